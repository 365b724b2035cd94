package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform"
)

// watchFlags are those of kinform watch.
type watchFlags struct {
	connection
	output        outputFlags
	namespace     string
	allNamespaces bool
	labels        string
	fields        string
	lasts         time.Duration
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
	fl.StringVarP(&f.namespace, "namespace", "n", "", "namespace to look at (default: that of the context)")
	fl.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "look at all namespaces")
	fl.StringVarP(&f.labels, "selector", "l", "", "only objects with these labels, such as app=web,tier!=cache")
	fl.StringVar(&f.fields, "field-selector", "", "only objects with these fields, such as spec.nodeName=node-7")
	f.output.flags(fl)
	fl.DurationVar(&f.lasts, "for", 0, "end after this time, such as 30s (default: at Ctrl-C)")
	f.connection.flags(fl)
	return cmd
}

// check finds what is wrong with the flags before any server is asked.
func (f *watchFlags) check(cmd *cobra.Command, s *screen) (printer, error) {
	if f.namespace != "" && f.allNamespaces {
		return nil, badUsage(cmd, "-n and -A contradict each other")
	}
	if _, err := labels.Parse(f.labels); err != nil {
		return nil, badUsage(cmd, fmt.Sprintf("-l %q is no label selector: %v", f.labels, err))
	}
	if _, err := fields.ParseSelector(f.fields); err != nil {
		return nil, badUsage(cmd, fmt.Sprintf("--field-selector %q is no field selector: %v", f.fields, err))
	}
	if f.lasts < 0 {
		return nil, badUsage(cmd, fmt.Sprintf("--for %s is in the past", f.lasts))
	}
	return f.output.printer(cmd, s)
}

func (f *watchFlags) run(ctx context.Context, s *screen, p printer, args []string) error {
	ctx, cancel := limited(ctx, f.lasts)
	defer cancel()
	srv, err := f.connection.load()
	if err != nil {
		return err
	}
	c, err := newCatalogue(ctx, srv)
	if err != nil {
		if ctx.Err() != nil {
			return nil // interrupted: nothing has happened yet
		}
		return err
	}
	resources, err := c.find(args)
	if err != nil {
		return err
	}
	session := &session{screen: s, printer: p, server: srv, initial: f.output.initial}
	for _, r := range resources {
		t, err := f.target(srv, r, titleOf(r, resources))
		if err != nil {
			return err
		}
		session.targets = append(session.targets, t)
	}
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

// titleOf is the resource's plural, with its group if another one has the same
// plural.
func titleOf(r resource, all []resource) string {
	title := r.Resource
	for _, o := range all {
		if o.Resource == r.Resource && o.Group != r.Group {
			title = r.GroupResource().String()
		}
	}
	return title
}

// target returns what is watched of a resource.
func (f *watchFlags) target(srv *server, r resource, title string) (*target, error) {
	o := kinform.Options{Resource: r.GroupVersionResource, LabelSelector: f.labels, FieldSelector: f.fields}
	where := ""
	if r.namespaced && !f.allNamespaces {
		ns := f.namespace
		if ns == "" {
			ns = srv.namespace
		}
		o.Namespaces = []string{ns}
		where = " in namespace " + ns
	}
	if r.name != "" {
		o.FieldSelector = strings.TrimPrefix(o.FieldSelector+",metadata.name="+r.name, ",")
		where = " " + r.name + where
	}
	t, err := newTarget(title, o, func(o kinform.Options) (*informer, error) {
		return kinform.New[*unstructured.Unstructured](srv.config, o)
	})
	if err != nil {
		return nil, &problem{what: "cannot watch " + title, why: innermost(err), cause: err}
	}
	t.where = where
	return t, nil
}
