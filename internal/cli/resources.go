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
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kinform/kinform/internal/near"
)

// discoveryTimeout bounds the first contact with a server: a person waits for it.
const discoveryTimeout = 10 * time.Second

// resource is something that a server can list and watch.
type resource struct {
	schema.GroupVersionResource
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
	cached := memory.NewMemCacheClient(client)
	_, lists, err := discovery.ToDiscoveryInterfaceWithContext(cached).ServerGroupsAndResourcesWithContext(ctx)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, explain("cannot talk to "+srv.config.Host, err, srv)
	}
	groups, err := restmapper.GetAPIGroupResources(cached)
	if err != nil {
		return nil, explain("cannot talk to "+srv.config.Host, err, srv)
	}
	mapper := restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), cached, nil)
	return &catalogue{server: srv, lists: lists, mapper: mapper}, nil
}

// find returns the resources of a command line: "pods", "po", "deployments.apps",
// "pods,nodes", "pod/web-0".
func (c *catalogue) find(args []string) ([]resource, error) {
	var all []resource
	for _, arg := range args {
		for word := range strings.SplitSeq(arg, ",") {
			r, err := c.one(word)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all, nil
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
			return resource{GroupVersionResource: gvr, namespaced: r.Namespaced, name: name}, nil
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
