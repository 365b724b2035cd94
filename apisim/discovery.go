package apisim

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	discoveryv2beta1 "k8s.io/api/apidiscovery/v2beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// simulatedVersion is the version of Kubernetes that this server behaves like.
const simulatedVersion = "v1.36.3"

// serveOther answers for paths that name no resource: discovery, version and
// health.
func (s *Server) serveOther(w http.ResponseWriter, h *http.Request) {
	if h.Method != http.MethodGet && h.Method != http.MethodHead {
		writeError(w, h, errNoMethod())
		return
	}
	parts := strings.Split(strings.Trim(h.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) == 1:
		s.serveGroups(w, h, true)
	case parts[0] == "apis" && len(parts) == 1:
		s.serveGroups(w, h, false)
	case parts[0] == "api" && len(parts) == 2:
		s.serveVersion(w, h, schema.GroupVersion{Version: parts[1]})
	case parts[0] == "apis" && len(parts) == 2:
		s.serveGroup(w, h, parts[1])
	case parts[0] == "apis" && len(parts) == 3:
		s.serveVersion(w, h, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	case h.URL.Path == "/" || h.URL.Path == "":
		s.servePaths(w)
	case h.URL.Path == "/version" || h.URL.Path == "/version/":
		writeJSON(w, version.Info{
			Major: "1", Minor: "36", GitVersion: simulatedVersion, GoVersion: runtime.Version(),
			Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		})
	case parts[0] == "healthz" || parts[0] == "livez" || parts[0] == "readyz":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ok")
	case h.URL.Path == "/openapi/v2":
		serveOpenAPIv2(w, h)
	case strings.HasPrefix(h.URL.Path, "/openapi/v3"):
		s.serveOpenAPI(w, h.URL.Path)
	default:
		notFound(w)
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", string(mediaJSON))
	w.Header().Set("Cache-Control", "no-cache, private")
	_ = json.NewEncoder(w).Encode(v)
}

// apiGroup is one group with its versions, the preferred one first.
type apiGroup struct {
	name     string
	versions []apiVersion
}

type apiVersion struct {
	name      string
	resources []metav1.APIResource // with subresources, sorted by name
}

// groups lists all groups in the order of discovery.
func (s *Server) groups() []apiGroup {
	byVersion := map[schema.GroupVersion][]metav1.APIResource{}
	for gv, list := range reviews {
		for _, review := range list {
			byVersion[gv] = append(byVersion[gv], review.APIResource)
		}
	}
	for _, r := range s.store.served() {
		byVersion[r.gvr.GroupVersion()] = append(byVersion[r.gvr.GroupVersion()], r.describe()...)
	}
	byGroup := map[string]*apiGroup{}
	for gv, resources := range byVersion {
		g := byGroup[gv.Group]
		if g == nil {
			g = &apiGroup{name: gv.Group}
			byGroup[gv.Group] = g
		}
		slices.SortFunc(resources, func(a, b metav1.APIResource) int { return cmp.Compare(a.Name, b.Name) })
		g.versions = append(g.versions, apiVersion{name: gv.Version, resources: resources})
	}
	out := make([]apiGroup, 0, len(byGroup))
	for _, g := range byGroup {
		slices.SortFunc(g.versions, func(a, b apiVersion) int { return version.CompareKubeAwareVersionStrings(b.name, a.name) })
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b apiGroup) int { return compareGroups(a.name, b.name) })
	return out
}

// compareGroups orders built-in groups by groupOrder and others after them.
func compareGroups(a, b string) int {
	rank := func(g string) int {
		if i := slices.Index(groupOrder, g); i >= 0 {
			return i
		}
		return len(groupOrder)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

func compareResources(a, b *resource) int {
	return cmp.Or(compareGroups(a.gvr.Group, b.gvr.Group), version.CompareKubeAwareVersionStrings(b.gvr.Version, a.gvr.Version),
		cmp.Compare(a.gvr.Resource, b.gvr.Resource))
}

// describe lists a resource and its subresources for discovery.
func (r *resource) describe() []metav1.APIResource {
	out := []metav1.APIResource{{
		Name:         r.gvr.Resource,
		SingularName: r.singular,
		Namespaced:   r.namespaced,
		Kind:         r.gvk.Kind,
		Verbs:        r.traits.verbs(),
		ShortNames:   r.traits.all("short:"),
		Categories:   r.traits.all("category:"),
	}}
	add := func(name string, gvk schema.GroupVersionKind, verbs ...string) {
		sub := metav1.APIResource{Name: r.gvr.Resource + "/" + name, Namespaced: r.namespaced, Kind: gvk.Kind, Verbs: verbs}
		if gvk.GroupVersion() != r.gvk.GroupVersion() {
			sub.Group, sub.Version = gvk.Group, gvk.Version
		}
		out = append(out, sub)
	}
	if r.hasStatus() {
		add("status", r.gvk, "get", "patch", "update")
	}
	if r.hasScale() {
		add("scale", scaleGVK, "get", "patch", "update")
	}
	for _, name := range r.traits.all("sub:") {
		if kind, ok := subresourceKinds[name]; ok {
			add(name, kind.of(r.gvk), kind.verbs...)
		}
	}
	return out
}

// subresourceKind is what discovery says of a subresource.
type subresourceKind struct {
	schema.GroupVersionKind
	verbs []string
}

// of fills in what is the same as in the resource.
func (k subresourceKind) of(gvk schema.GroupVersionKind) schema.GroupVersionKind {
	if k.Version == "" {
		k.Group, k.Version = gvk.Group, gvk.Version
	}
	if k.Kind == "" {
		k.Kind = gvk.Kind
	}
	return k.GroupVersionKind
}

var subresourceKinds = map[string]subresourceKind{
	"approval":            {verbs: []string{"get", "patch", "update"}},
	"ephemeralcontainers": {verbs: []string{"get", "patch", "update"}},
	"finalize":            {verbs: []string{"update"}},
	"resize":              {verbs: []string{"get", "patch", "update"}},
	"log":                 {verbs: []string{"get"}},
	"binding":             {GroupVersionKind: schema.GroupVersionKind{Kind: "Binding"}, verbs: []string{"create"}},
	"eviction": {GroupVersionKind: schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "Eviction"},
		verbs: []string{"create"}},
	"token": {GroupVersionKind: schema.GroupVersionKind{Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest"},
		verbs: []string{"create"}},
}

// serveGroups answers /api and /apis: all groups with their versions, and
// their resources too if the client asks for the aggregated form.
func (s *Server) serveGroups(w http.ResponseWriter, h *http.Request, core bool) {
	groups := slices.DeleteFunc(s.groups(), func(g apiGroup) bool { return (g.name == "") != core })
	switch as, ok := negotiateDiscovery(h); {
	case ok && as == "v2":
		list := aggregated(groups)
		list.TypeMeta = metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}
		writeAggregated(w, as, list)
	case ok:
		list := discoveryv2beta1.APIGroupDiscoveryList{}
		convertJSON(aggregated(groups), &list)
		list.TypeMeta = metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2beta1"}
		writeAggregated(w, as, list)
	case core:
		writeMeta(w, h, metav1.Unversioned.WithKind("APIVersions"), &metav1.APIVersions{
			Versions:                   []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: h.Host}},
		})
	default:
		list := &metav1.APIGroupList{}
		for _, g := range groups {
			list.Groups = append(list.Groups, g.describe())
		}
		writeMeta(w, h, metav1.Unversioned.WithKind("APIGroupList"), list)
	}
}

func (g apiGroup) describe() metav1.APIGroup {
	out := metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		gv := schema.GroupVersion{Group: g.name, Version: v.name}
		out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v.name})
	}
	out.PreferredVersion = out.Versions[0]
	return out
}

func (s *Server) serveGroup(w http.ResponseWriter, h *http.Request, name string) {
	for _, g := range s.groups() {
		if g.name == name && name != "" {
			out := g.describe()
			writeMeta(w, h, metav1.Unversioned.WithKind("APIGroup"), &out)
			return
		}
	}
	notFound(w)
}

func (s *Server) serveVersion(w http.ResponseWriter, h *http.Request, gv schema.GroupVersion) {
	for _, g := range s.groups() {
		for _, v := range g.versions {
			if g.name == gv.Group && v.name == gv.Version {
				writeMeta(w, h, metav1.Unversioned.WithKind("APIResourceList"),
					&metav1.APIResourceList{GroupVersion: gv.String(), APIResources: v.resources})
				return
			}
		}
	}
	if s.store.hasGroup(gv.Group) {
		writeError(w, h, errNoRoute())
		return
	}
	notFound(w)
}

// servePaths answers / with what can be asked for.
func (s *Server) servePaths(w http.ResponseWriter) {
	paths := []string{"/api", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"}
	for _, g := range s.groups() {
		if g.name != "" {
			paths = append(paths, "/apis/"+g.name)
		}
		for _, v := range g.versions {
			paths = append(paths, "/"+pathOf(schema.GroupVersion{Group: g.name, Version: v.name}))
		}
	}
	slices.Sort(paths)
	writeJSON(w, metav1.RootPaths{Paths: paths})
}

// negotiateDiscovery returns the version of the aggregated form that the
// client prefers to the plain one.
func negotiateDiscovery(h *http.Request) (string, bool) {
	f, ok := negotiateMedia(h.Header.Get("Accept"), builtinMedia, func(m mediaType, as schema.GroupVersionKind) (transform, bool) {
		return asTable, m == mediaJSON && as.Group == discoveryv2.GroupName && as.Kind == "APIGroupDiscoveryList" &&
			(as.Version == "v2" || as.Version == "v2beta1")
	})
	return f.version.Version, ok && f.shape == asTable
}

func writeAggregated(w http.ResponseWriter, as string, list any) {
	w.Header().Set("Cache-Control", "public")
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v="+as+";as=APIGroupDiscoveryList")
	_ = json.NewEncoder(w).Encode(list)
}

// aggregated puts resources and subresources into one document.
func aggregated(groups []apiGroup) discoveryv2.APIGroupDiscoveryList {
	list := discoveryv2.APIGroupDiscoveryList{Items: []discoveryv2.APIGroupDiscovery{}}
	for _, g := range groups {
		item := discoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
		for _, v := range g.versions {
			item.Versions = append(item.Versions, discoveryv2.APIVersionDiscovery{
				Version:   v.name,
				Freshness: discoveryv2.DiscoveryFreshnessCurrent,
				Resources: aggregatedResources(schema.GroupVersion{Group: g.name, Version: v.name}, v.resources),
			})
		}
		list.Items = append(list.Items, item)
	}
	return list
}

func aggregatedResources(gv schema.GroupVersion, resources []metav1.APIResource) []discoveryv2.APIResourceDiscovery {
	var out []discoveryv2.APIResourceDiscovery
	kind := func(r metav1.APIResource) *metav1.GroupVersionKind {
		return &metav1.GroupVersionKind{Group: cmp.Or(r.Group, gv.Group), Version: cmp.Or(r.Version, gv.Version), Kind: r.Kind}
	}
	for _, r := range resources {
		if parent, sub, ok := strings.Cut(r.Name, "/"); ok {
			if last := len(out) - 1; last >= 0 && out[last].Resource == parent {
				out[last].Subresources = append(out[last].Subresources, discoveryv2.APISubresourceDiscovery{
					Subresource: sub, ResponseKind: kind(r), Verbs: r.Verbs})
			}
			continue
		}
		scope := discoveryv2.ScopeCluster
		if r.Namespaced {
			scope = discoveryv2.ScopeNamespace
		}
		out = append(out, discoveryv2.APIResourceDiscovery{
			Resource: r.Name, ResponseKind: kind(r), Scope: scope, SingularResource: r.SingularName,
			Verbs: r.Verbs, ShortNames: r.ShortNames, Categories: r.Categories,
		})
	}
	return out
}

func convertJSON(from, to any) {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		panic(err) // both are discovery types with the same fields
	}
}
