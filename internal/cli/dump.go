package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	return f.command(&cobra.Command{
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
	}, verb{
		example: "kinform dump pods", formats: []string{"text", "json"}, flags: f.flags, check: f.check,
		run: func(ctx context.Context, args []string) error { return f.run(ctx, s, args) },
	})
}

func (f *dumpFlags) flags(fl *pflag.FlagSet) {
	fl.StringVarP(&f.format, "output", "o", "text", "how it is shown: text or json")
	fl.DurationVar(&f.patient, "timeout", 30*time.Second, "how long to wait for the sync")
}

func (f *dumpFlags) check(cmd *cobra.Command) error {
	switch {
	case f.format != "text" && f.format != "json":
		return badUsage(cmd, fmt.Sprintf("-o %s is not known: use text or json", f.format))
	case f.patient <= 0:
		return badUsage(cmd, fmt.Sprintf("--timeout %s leaves no time", f.patient))
	}
	return nil
}

func (f *dumpFlags) run(ctx context.Context, s *screen, args []string) error {
	ctx, cancel := limited(ctx, "--timeout", f.patient)
	defer cancel()
	srv, targets, err := f.targets(ctx, args)
	if err != nil {
		return err
	}
	watching := func(t *target) bool { return t.inf.HasSynced() && t.inf.Status().State() == kinform.StateWatching }
	return gather(ctx, s, targets, srv, watching, func() error {
		var all []describe.Description
		for _, t := range targets {
			all = append(all, t.inf.Describe())
		}
		text, err := f.render(all)
		if err == nil {
			err = s.print(text)
		}
		if err != nil {
			return unwritten(err)
		}
		return nil
	})
}

func (f *dumpFlags) render(descriptions []describe.Description) (string, error) {
	if f.format == "json" {
		return jsonText(descriptions)
	}
	var parts []string
	for _, d := range descriptions {
		parts = append(parts, d.String())
	}
	return strings.Join(parts, "\n"), nil
}
