package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kinform/kinform/internal/near"
)

// discoveryTimeout bounds the first contact with a server: a person waits for it. It is a
// variable for tests of what bounds it further.
var discoveryTimeout = 10 * time.Second

// resource is something that a server can list and watch.
type resource struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
	name       string // of one object, or "" for all
}

// catalogue knows what a server serves.
type catalogue struct {
	server *server
	lists  []*metav1.APIResourceList
	mapper meta.RESTMapper
}

// newCatalogue asks the server what it serves. Groups that do not answer (an
// aggregated server that is down) are left out.
func newCatalogue(ctx context.Context, srv *server) (*catalogue, error) {
	cfg := rest.CopyConfig(srv.config)
	cfg.Timeout = discoveryTimeout
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, &problem{what: "the configuration of " + srv.from + " cannot be used", why: innermost(err), cause: err}
	}
	groups, lists, err := client.ServerGroupsAndResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, explain("cannot talk to "+srv.config.Host, err, srv)
	}
	known := answered{groups: groups, lists: lists}
	mapped, err := restmapper.GetAPIGroupResources(known)
	if err != nil {
		return nil, explain("cannot talk to "+srv.config.Host, err, srv)
	}
	mapper := restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(mapped), known, nil)
	return &catalogue{server: srv, lists: lists, mapper: mapper}, nil
}

// answered is what a server has said about itself. Whoever looks something up gets that:
// client-go's caches would ask again, at each look, for groups that do not answer.
type answered struct {
	discovery.DiscoveryInterface
	groups []*metav1.APIGroup
	lists  []*metav1.APIResourceList
}

func (a answered) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return a.groups, a.lists, nil
}

// everything is the word for all that a server has.
const everything = "all"

// find returns the resources of a command line: "pods", "po", "deployments.apps",
// "pods,nodes", "pod/web-0", "all". Optional ones that the server does not have are left
// out.
func (c *catalogue) find(args []string, optional bool) ([]resource, error) {
	var all []resource
	for _, arg := range args {
		for word := range strings.SplitSeq(arg, ",") {
			if word == everything {
				all = append(all, c.all()...)
				continue
			}
			r, err := c.one(word)
			switch {
			case err != nil && optional && meta.IsNoMatchError(errors.Unwrap(err)):
			case err != nil:
				return nil, err
			default:
				all = append(all, r)
			}
		}
	}
	var once []resource
	for _, r := range all {
		if !slices.Contains(once, r) {
			once = append(once, r)
		}
	}
	return once, nil
}

// all returns everything that can be watched, in the version that the server prefers.
// Events are served by two groups, of which one is enough.
func (c *catalogue) all() []resource {
	var all []resource
	for _, list := range c.lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || gv.Group == "events.k8s.io" {
			continue
		}
		for _, r := range list.APIResources {
			best, err := c.mapper.ResourceFor(gv.WithResource(r.Name).GroupResource().WithVersion(""))
			if err == nil && best.GroupVersion() == gv && watchable(r) {
				all = append(all, resource{GroupVersionResource: best, kind: r.Kind, namespaced: r.Namespaced})
			}
		}
	}
	return all
}

func (c *catalogue) one(word string) (resource, error) {
	plural, name, _ := strings.Cut(word, "/")
	gvr, err := c.lookUp(plural)
	if err != nil {
		return resource{}, c.unknown(plural, err)
	}
	for _, list := range c.lists {
		if list.GroupVersion != gvr.GroupVersion().String() {
			continue
		}
		for _, r := range list.APIResources {
			if r.Name != gvr.Resource {
				continue
			}
			if !watchable(r) {
				return resource{}, &problem{what: "cannot watch " + r.Name, why: "all that the server offers for it is " + near.Or(r.Verbs)}
			}
			return resource{GroupVersionResource: gvr, kind: r.Kind, namespaced: r.Namespaced, name: name}, nil
		}
	}
	return resource{}, c.unknown(plural, &meta.NoResourceMatchError{PartialResource: gvr})
}

func watchable(r metav1.APIResource) bool {
	return slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
}

// lookUp finds a resource by plural, singular or short name, with or without
// version and group.
func (c *catalogue) lookUp(word string) (schema.GroupVersionResource, error) {
	full, group := schema.ParseResourceArg(strings.ToLower(word))
	if full != nil {
		if gvr, err := c.mapper.ResourceFor(*full); err == nil {
			return gvr, nil
		}
	}
	return c.mapper.ResourceFor(group.WithVersion(""))
}

// unknown says that a resource does not exist, and which ones come close.
func (c *catalogue) unknown(word string, err error) error {
	var many *meta.AmbiguousResourceError
	switch {
	case errors.As(err, &many):
		return &problem{
			what:  fmt.Sprintf("%q can be several resources", word),
			why:   ambiguous(many),
			do:    "add the group, as in deployments.apps",
			cause: err,
		}
	case !meta.IsNoMatchError(err):
		return explain("cannot look up "+word, err, c.server)
	}
	p := &problem{what: fmt.Sprintf("no resource %q", word), cause: err}
	plural, _, _ := strings.Cut(word, ".")
	if hint := near.Hint(plural, c.names()); hint != "" {
		p.what += hint
	} else {
		p.do = "kubectl api-resources shows what the server has"
	}
	return p
}

func ambiguous(e *meta.AmbiguousResourceError) string {
	var names []string
	for _, m := range e.MatchingResources {
		names = append(names, m.GroupResource().String())
	}
	return near.Or(names)
}

// names are the words for everything that can be watched.
func (c *catalogue) names() []string {
	var names []string
	for _, list := range c.lists {
		for _, r := range list.APIResources {
			if watchable(r) {
				names = append(names, r.Name)
			}
		}
	}
	return names
}
