package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/describe"
)

// dumpFlags are those of kinform dump.
type dumpFlags struct {
	selection
	format  string
	patient time.Duration
}

func newDump(s *screen) *cobra.Command {
	var f dumpFlags
	cmd := &cobra.Command{
		Use:   "dump RESOURCE...",
		Short: "Show how informers of a cluster's resources are set up, and how they are doing",
		Long: `Run an informer of each RESOURCE until it has synced, and show all of its running
configuration and state: what it asks the server for and how, what it holds, its
handlers, versions, counts and times. Nothing of the objects is shown.

RESOURCE and the choice of the cluster are those of kinform watch. An informer
that does not sync in time is shown with what keeps it; the exit code is then 1.`,
		Example: `  kinform dump pods                          the current namespace
  kinform dump deploy,po,nodes -A            several resources
  kinform dump secrets -A -o json | jq .     for other programs`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return badUsage(cmd, "which resource? For example: kinform dump pods")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), s, args)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.selection.flags(fl)
	fl.StringVarP(&f.format, "output", "o", "text", "how it is shown: text or json")
	fl.DurationVar(&f.patient, "timeout", 30*time.Second, "how long to wait for the sync")
	f.connection.flags(fl)
	return cmd
}

func (f *dumpFlags) check(cmd *cobra.Command) error {
	switch {
	case f.format != "text" && f.format != "json":
		return badUsage(cmd, fmt.Sprintf("-o %s is not known: use text or json", f.format))
	case f.patient <= 0:
		return badUsage(cmd, fmt.Sprintf("--timeout %s leaves no time", f.patient))
	}
	return f.selection.check(cmd)
}

func (f *dumpFlags) run(ctx context.Context, s *screen, args []string) error {
	srv, targets, err := f.targets(ctx, args)
	if err != nil || len(targets) == 0 {
		return err
	}
	descriptions, err := describeTargets(ctx, f.patient, targets, srv)
	if ctx.Err() != nil {
		return nil // interrupted
	}
	text, broken := f.render(descriptions)
	if broken == nil {
		broken = s.print(text)
	}
	if broken != nil {
		return unwritten(broken)
	}
	return err
}

// describeTargets runs the targets' informers until all are in touch with the
// server, or will not be, and describes them while they still run. The error is
// the first problem.
func describeTargets(ctx context.Context, patient time.Duration, targets []*target, srv *server) ([]describe.Description, error) {
	running, stop := context.WithCancel(ctx)
	wait, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	var informers, waiters sync.WaitGroup
	defer informers.Wait()
	defer stop()
	problems := make([]error, len(targets))
	for i, t := range targets {
		informers.Go(func() { _ = t.inf.Run(running) }) // it was not running
		waiters.Go(func() { problems[i] = t.settle(wait, srv) })
	}
	waiters.Wait()
	var descriptions []describe.Description
	for _, t := range targets {
		descriptions = append(descriptions, t.inf.Describe())
	}
	for _, err := range problems {
		if err != nil {
			return descriptions, err
		}
	}
	return descriptions, nil
}

// settle waits until a target has synced and watches, or has no hope to.
func (t *target) settle(ctx context.Context, srv *server) error {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		trouble := t.trouble()
		switch {
		case t.inf.HasSynced() && t.inf.Status().State() == kinform.StateWatching:
			return nil
		case trouble != nil && hopeless(trouble.Cause):
			return explain("cannot watch "+t.title(), trouble.Cause, srv)
		case ctx.Err() != nil && trouble != nil:
			return explain("cannot watch "+t.title(), trouble.Cause, srv)
		case ctx.Err() != nil:
			return &problem{what: t.title() + " has not synced in the time given", do: "give more with --timeout"}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}

func (f *dumpFlags) render(descriptions []describe.Description) (string, error) {
	var b bytes.Buffer
	if f.format == "json" {
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err := e.Encode(descriptions)
		return b.String(), err
	}
	var parts []string
	for _, d := range descriptions {
		parts = append(parts, d.String())
	}
	return strings.Join(parts, "\n"), nil
}
