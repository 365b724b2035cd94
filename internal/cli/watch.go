package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// watchFlags are those of kinform watch.
type watchFlags struct {
	selection
	output  outputFlags
	lasts   lasting
	printer printer
}

func newWatch(s *screen) *cobra.Command {
	var f watchFlags
	return f.command(&cobra.Command{
		Use:   "watch RESOURCE...",
		Short: "Show each change of a cluster's objects as it happens",
		Long: `Show each change of a cluster's objects as it happens, and which fields changed.

A RESOURCE is a plural, a singular or a short name, with the group if that is
needed (pods, po, deployments.apps), or one object (pod/web-0). Objects that are
there at the start are counted, not shown, unless --initial is given. The values
in Secrets are never shown.

The cluster is the one that this runs in, if it runs in a pod; else that of
KUBECONFIG, or of ~/.kube/config. --kubeconfig and --context win over all of
them. Ctrl-C ends it. If a resource has not been read when the time
of --for is up, the exit code is 1.`,
		Example: `  kinform watch pods                           the current namespace
  kinform watch deploy,rs,po -n shop           several resources
  kinform watch pods -A -l app=web -o diff     as a patch shows it
  kinform watch events -A -o json | jq .       for other programs
  kinform watch pod/web-0 --for 1m --initial   one object, for a minute`,
	}, verb{
		example: "kinform watch pods", formats: formats, endless: true, flags: f.flags,
		check: func(cmd *cobra.Command) error { return f.check(cmd, s) },
		run:   func(ctx context.Context, args []string) error { return f.run(ctx, s, args) },
	})
}

func (f *watchFlags) flags(fl *pflag.FlagSet) {
	f.output.flags(fl)
	f.lasts.flags(fl)
}

func (f *watchFlags) check(cmd *cobra.Command, s *screen) (err error) {
	if err := f.lasts.check(cmd); err != nil {
		return err
	}
	f.printer, err = f.output.printer(cmd, s)
	return err
}

func (f *watchFlags) run(ctx context.Context, s *screen, args []string) error {
	ctx, cancel := f.lasts.limited(ctx)
	defer cancel()
	srv, targets, err := f.targets(ctx, args)
	if err != nil {
		return err
	}
	session := &session{screen: s, printer: f.printer, server: srv, targets: targets, initial: f.output.initial}
	f.output.align(f.printer, session.targets)
	return session.run(ctx)
}
