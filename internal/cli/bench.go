package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes/scheme"
)

// benchFlags are those of kinform bench.
type benchFlags struct {
	selection
	format string
	lasts  time.Duration
}

func newBench(s *screen) *cobra.Command {
	var f benchFlags
	return f.command(&cobra.Command{
		Use:   "bench RESOURCE...",
		Short: "Measure what client-go and kinform would take for a cluster's objects",
		Long: `Run informers of each RESOURCE with client-go, and with kinform's packages of the
same names, one after the other, each in a process of its own, and compare what
they take. The cluster is only read: each side lists the objects and watches them.

Both have one handler for each resource, get typed objects, in protobuf, of the
kinds that Kubernetes has, and unstructured ones of custom resources. Memory is
what the informers take, above what the process has without them, after a garbage
collection; the peak is that of the whole process. kinform goes first, so that what
the server has to load for it is at its expense.

RESOURCE and the choice of the cluster are those of kinform watch.`,
		Example: `  kinform bench pods -A                  the pods of all namespaces
  kinform bench po,deploy,cm -A --for 1m and a minute of their changes
  kinform bench all -A -o json | jq .    everything, for other programs`,
	}, verb{
		example: "kinform bench pods -A", formats: []string{"table", "json"}, flags: f.flags, check: f.check,
		run: func(ctx context.Context, args []string) error { return f.run(ctx, s, args) },
	})
}

func (f *benchFlags) flags(fl *pflag.FlagSet) {
	fl.StringVarP(&f.format, "output", "o", "table", "how the result is shown: table or json")
	fl.DurationVar(&f.lasts, "for", 10*time.Second, "how long each side watches after it has synced")
}

func (f *benchFlags) check(cmd *cobra.Command) error {
	switch {
	case f.format != "table" && f.format != "json":
		return badUsage(cmd, fmt.Sprintf("-o %s is not known: use table or json", f.format))
	case f.lasts < 0:
		return badUsage(cmd, fmt.Sprintf("--for %s is in the past", f.lasts))
	}
	return nil
}

// benchJob is what one side has to do.
type benchJob struct {
	Library   string          `json:"library"`
	Resources []benchResource `json:"resources"`
	Lasts     time.Duration   `json:"lasts"`
}

// benchResource is one resource of it.
type benchResource struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Labels    string `json:"labels,omitempty"`
	Fields    string `json:"fields,omitempty"`
	Typed     bool   `json:"typed"` // Kubernetes has a Go type of it
}

func (r benchResource) where() string {
	if r.Namespace == "" {
		return r.Resource
	}
	return r.Resource + " in namespace " + r.Namespace
}

func (f *benchFlags) run(ctx context.Context, s *screen, args []string) error {
	_, targets, err := f.targets(ctx, args)
	if err != nil {
		return err
	}
	job := benchJob{Lasts: f.lasts}
	for _, t := range targets {
		job.Resources = append(job.Resources, t.bench(f.labels))
	}
	result := benchResult{Sides: map[string]measurement{}}
	for _, r := range job.Resources {
		result.Resources = append(result.Resources, r.where())
	}
	for _, library := range []string{kinformSide, clientGoSide} {
		job.Library = library
		m, err := f.measure(ctx, s, job)
		if ctx.Err() != nil {
			err = errInterrupted
		}
		if err != nil {
			if len(result.Sides) > 0 { // better half of the answer than none
				err = errors.Join(err, f.show(s, result))
			}
			return err
		}
		result.Sides[library] = m
	}
	return f.show(s, result)
}

// bench is what a target selects, as a job has it.
func (t *target) bench(labels string) benchResource {
	d := t.inf.Describe().Source
	r := benchResource{
		Group: t.kind.Group, Version: t.kind.Version, Resource: t.resource, Labels: labels, Fields: d.FieldSelector,
		Typed: scheme.Scheme.Recognizes(t.kind),
	}
	if len(d.Namespaces) == 1 {
		r.Namespace = d.Namespaces[0]
	}
	return r
}
