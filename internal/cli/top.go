package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/diff"
	"github.com/kinform/kinform/internal/hot"
	"github.com/kinform/kinform/internal/near"
)

// topFlags are those of kinform top.
type topFlags struct {
	selection
	by     []string
	rows   int
	format string
	lasts  lasting
}

// groups are what changes can be counted by.
var groups = []string{"kind", "namespace", "object", "manager"}

// usually are the resources that are watched where none is named: those that
// controllers work on.
var usually = []string{
	"pods", "nodes", "services", "configmaps", "endpointslices.discovery.k8s.io", "leases.coordination.k8s.io",
	"deployments.apps", "replicasets.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch",
	"horizontalpodautoscalers.autoscaling",
}

func newTop(s *screen) *cobra.Command {
	var f topFlags
	return f.command(&cobra.Command{
		Use:   "top [RESOURCE...]",
		Short: "Show what changes most, who changes it, and controllers that fight",
		Long: `Count the changes of a cluster's objects by kind, namespace, object and field
manager. It finds managers that fight, which change the same field of the same
object in turn, and those that change an object again and again, and says so in
a sentence.

Who made a change is read from the objects' managed fields. On a terminal the
table is live; the report comes at the end, after --for or at Ctrl-C. Elsewhere
there is only the report. Rates are of the last ten seconds or so. If a
RESOURCE has not been read when the time of --for is up, the exit code is 1.

RESOURCE and the choice of the cluster are those of kinform watch; "all" is
everything that the server has. Without one, these are watched:
` + wrapped(usually),
		Example: `  kinform top -A                            the usual resources, everywhere
  kinform top deploy,hpa -n shop --for 30s  a report of half a minute
  kinform top all -A --by manager           who writes, over all resources
  kinform top -A --for 1m -o json | jq .findings`,
	}, verb{
		formats: []string{"table", "json"}, endless: true, flags: f.flags, check: f.check,
		run: func(ctx context.Context, args []string) error { return f.run(ctx, s, args) },
	})
}

func (f *topFlags) flags(fl *pflag.FlagSet) {
	fl.StringSliceVar(&f.by, "by", groups, "what to count by: "+near.Or(groups)+", or several")
	fl.IntVar(&f.rows, "rows", 10, "how many of each are shown")
	fl.StringVarP(&f.format, "output", "o", "table", "how the report is shown: table or json")
	f.lasts.flags(fl)
}

// wrapped lists words in lines of a help text.
func wrapped(words []string) string {
	var lines []string
	line := " "
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		if len(line)+len(w) > 78 {
			lines, line = append(lines, line), " "
		}
		line += " " + w
	}
	return strings.Join(append(lines, line), "\n")
}

func (f *topFlags) check(cmd *cobra.Command) error {
	for _, by := range f.by {
		if !slices.Contains(groups, by) {
			return badUsage(cmd, fmt.Sprintf("--by %s is not known: use %s", by, near.Or(groups)))
		}
	}
	switch {
	case f.format != "table" && f.format != "json":
		return badUsage(cmd, fmt.Sprintf("-o %s is not known: use table or json", f.format))
	case f.rows <= 0:
		return badUsage(cmd, fmt.Sprintf("--rows %d: there must be some", f.rows))
	}
	return f.lasts.check(cmd)
}

func (f *topFlags) run(ctx context.Context, s *screen, args []string) error {
	if len(args) == 0 {
		f.optional, args = true, usually
	}
	ctx, cancel := f.lasts.limited(ctx)
	defer cancel()
	srv, targets, err := f.targets(ctx, args)
	if err != nil {
		return err
	}
	top := &top{tracker: hot.NewTracker(time.Now(), 0)}
	session := &session{screen: s, printer: top, server: srv, targets: targets, optional: f.optional}
	session.report = func() error {
		text, err := f.render(s, top.tracker.Report(session.ended, f.rows))
		if err == nil {
			err = s.print(text)
		}
		if err != nil {
			return unwritten(err)
		}
		return nil
	}
	if f.format == "table" {
		session.panel = func() []string { return f.panel(s, top.tracker) }
	}
	return session.run(ctx)
}

// top counts changes instead of printing them.
type top struct{ tracker *hot.Tracker }

func (t *top) text(c change) (string, error) {
	h := hot.Change{Time: c.Time, Type: string(c.Kind), Resource: c.Resource, Key: c.Key}
	if c.Kind != kinform.EventDeleted {
		h.Fields = hot.Writers(c.Managed[0], c.Managed[1], majorOf(c.Fields))
	}
	t.tracker.Add(h)
	return "", nil
}

// majorOf are the fields that do not just change along with others.
func majorOf(all []diff.Change) []diff.Change {
	return slices.DeleteFunc(slices.Clone(all), diff.Change.Minor)
}

func (f *topFlags) render(s *screen, r hot.Report) (string, error) {
	if f.format == "json" {
		return jsonText(r)
	}
	lines := f.tables(r, false, s.colours, s.width())
	return strings.Join(lines, "\n") + "\n", nil
}

// jsonText writes a value for other programs, and people.
func jsonText(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.String(), err
}
