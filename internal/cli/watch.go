package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// watchFlags are those of kinform watch.
type watchFlags struct {
	selection
	output outputFlags
	lasts  time.Duration
}

func newWatch(s *screen) *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch RESOURCE...",
		Short: "Show each change of a cluster's objects as it happens",
		Long: `Show each change of a cluster's objects as it happens, and which fields changed.

A RESOURCE is a plural, a singular or a short name, with the group if that is
needed (pods, po, deployments.apps), or one object (pod/web-0). Objects that are
there at the start are counted, not shown, unless --initial is given. The values
in Secrets are never shown.

The cluster is the one that this runs in, if it runs in a pod; else that of
KUBECONFIG, or of ~/.kube/config. --kubeconfig and --context win over all of
them. Ctrl-C ends it.`,
		Example: `  kinform watch pods                           the current namespace
  kinform watch deploy,rs,po -n shop           several resources
  kinform watch pods -A -l app=web -o diff     as a patch shows it
  kinform watch events -A -o json | jq .       for other programs
  kinform watch pod/web-0 --for 1m --initial   one object, for a minute`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return badUsage(cmd, "which resource? For example: kinform watch pods")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := f.check(cmd, s)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), s, p, args)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.selection.flags(fl)
	f.output.flags(fl)
	fl.DurationVar(&f.lasts, "for", 0, "end after this time, such as 30s (default: at Ctrl-C)")
	f.connection.flags(fl)
	f.complete(cmd, formats...)
	return cmd
}

// check finds what is wrong with the flags before any server is asked.
func (f *watchFlags) check(cmd *cobra.Command, s *screen) (printer, error) {
	if err := f.selection.check(cmd); err != nil {
		return nil, err
	}
	if f.lasts < 0 {
		return nil, badUsage(cmd, fmt.Sprintf("--for %s is in the past", f.lasts))
	}
	return f.output.printer(cmd, s)
}

func (f *watchFlags) run(ctx context.Context, s *screen, p printer, args []string) error {
	ctx, cancel := limited(ctx, f.lasts)
	defer cancel()
	srv, targets, err := f.targets(ctx, args)
	if err != nil || len(targets) == 0 {
		return err
	}
	session := &session{screen: s, printer: p, server: srv, targets: targets, initial: f.output.initial}
	f.output.align(p, session.targets)
	return session.run(ctx)
}

// limited returns a context that ends after a time, if there is one.
func limited(ctx context.Context, lasts time.Duration) (context.Context, context.CancelFunc) {
	if lasts == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, lasts, errTimeUp)
}
