package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinform/kinform"
)

// selection says which objects of which server.
type selection struct {
	connection
	namespace     string
	allNamespaces bool
	labels        string
	fields        string
	optional      bool // resources that the server does not have are left out
}

func (s *selection) flags(fl *pflag.FlagSet) {
	fl.StringVarP(&s.namespace, "namespace", "n", "", "namespace to look at (default: that of the context)")
	fl.BoolVarP(&s.allNamespaces, "all-namespaces", "A", false, "look at all namespaces")
	fl.StringVarP(&s.labels, "selector", "l", "", "only objects with these labels, such as app=web,tier!=cache")
	fl.StringVar(&s.fields, "field-selector", "", "only objects with these fields, such as spec.nodeName=node-7")
}

// check finds what is wrong with the flags before any server is asked.
func (s *selection) check(cmd *cobra.Command) error {
	if s.namespace != "" && s.allNamespaces {
		return badUsage(cmd, "-n and -A contradict each other")
	}
	if _, err := labels.Parse(s.labels); err != nil {
		return badUsage(cmd, fmt.Sprintf("-l %q is no label selector: %v", s.labels, err))
	}
	if _, err := fields.ParseSelector(s.fields); err != nil {
		return badUsage(cmd, fmt.Sprintf("--field-selector %q is no field selector: %v", s.fields, err))
	}
	return nil
}

// targets connects and returns a target for each resource of the command line.
// If ctx ends meanwhile, the error says that the time is up, or is errInterrupted.
func (s *selection) targets(ctx context.Context, args []string) (*server, []*target, error) {
	srv, err := s.load()
	if err != nil {
		return nil, nil, err
	}
	c, err := newCatalogue(ctx, srv)
	if ctx.Err() != nil {
		what := "nothing was read"
		if !s.optional {
			what += " of " + strings.Join(args, ", ")
		}
		return srv, nil, undiscovered(ctx, what, srv)
	}
	if err != nil {
		return srv, nil, err
	}
	resources, err := c.find(args, s.optional)
	if err != nil {
		return srv, nil, err
	}
	if len(resources) == 0 {
		return srv, nil, &problem{what: srv.config.Host + " serves none of the usual resources", do: "name some: kubectl api-resources shows what the server has"}
	}
	var targets []*target
	for _, r := range resources {
		t, err := s.target(srv, r, titleOf(r, resources))
		if err != nil {
			return srv, nil, err
		}
		targets = append(targets, t)
	}
	return srv, targets, nil
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

// target returns what is selected of a resource.
func (s *selection) target(srv *server, r resource, title string) (*target, error) {
	o := kinform.Options{Resource: r.GroupVersionResource, LabelSelector: s.labels, FieldSelector: s.fields}
	where := ""
	if r.namespaced && !s.allNamespaces {
		ns := s.namespace
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
	t.where, t.kind, t.resource = where, r.GroupVersion().WithKind(r.kind), r.Resource
	return t, nil
}
