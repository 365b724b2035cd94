package conformance

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var discoveryCases = []Case{
	{Name: "discovery/the core group and its resources", run: discoverCore},
	{Name: "discovery/the named groups and their resources", run: discoverGroups},
	{Name: "discovery/all at once, where that is asked for", run: discoverAggregated},
	{Name: "discovery/client-go finds everything that can be listed and watched", run: discoverByClient},
	{Name: "discovery/a group or version that does not exist is not found", run: discoverUnknown},
	{Name: "discovery/the server's version", run: discoverVersion},
	{Name: "discovery/the server's health", run: discoverHealth},
}

// resource finds a resource by name in an APIResourceList.
func (e *env) resource(path, name string) *metav1.APIResource {
	e.Helper()
	list := &metav1.APIResourceList{}
	must(e, fromUnstructured(e.object(e.get(path, nil)), list), "decoding "+path)
	if list.Kind != "APIResourceList" || list.GroupVersion == "" {
		e.Errorf("%s is a %s of group version %q", path, list.Kind, list.GroupVersion)
	}
	for i := range list.APIResources {
		if list.APIResources[i].Name == name {
			return &list.APIResources[i]
		}
	}
	e.Fatalf("%s does not list %s", path, name)
	return nil
}

var everything = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// wantVerbs checks what can be done with a resource.
func (e *env) wantVerbs(r *metav1.APIResource, verbs []string) {
	e.Helper()
	if got := slices.Sorted(slices.Values(r.Verbs)); !slices.Equal(got, verbs) {
		e.Errorf("%s allows %v, want %v", r.Name, got, verbs)
	}
}

func discoverCore(e *env) {
	e.wantSame(e.object(e.get("/api", nil)).Object["versions"], []string{"v1"})
	maps := e.resource(core, "configmaps")
	if !maps.Namespaced || maps.Kind != "ConfigMap" || maps.SingularName != "configmap" || !slices.Contains(maps.ShortNames, "cm") {
		e.Errorf("configmaps are %+v", maps)
	}
	e.wantVerbs(maps, everything)
	if nodes := e.resource(core, "nodes"); nodes.Namespaced {
		e.Error("nodes are said to be in namespaces")
	}
	e.wantVerbs(e.resource(core, "pods/status"), []string{"get", "patch", "update"})
}

func discoverGroups(e *env) {
	groups := &metav1.APIGroupList{}
	must(e, fromUnstructured(e.object(e.get("/apis", nil)), groups), "decoding /apis")
	found := slices.IndexFunc(groups.Groups, func(g metav1.APIGroup) bool { return g.Name == "apps" })
	if found < 0 || groups.Groups[found].PreferredVersion.GroupVersion != "apps/v1" {
		e.Errorf("/apis holds apps at %d", found)
	}
	e.wantField(e.object(e.get("/apis/apps", nil)), "apps/v1", "preferredVersion", "groupVersion")
	deployments := e.resource(apps, "deployments")
	if deployments.Kind != "Deployment" || !slices.Contains(deployments.Categories, "all") {
		e.Errorf("deployments are %+v", deployments)
	}
	e.wantVerbs(deployments, everything)
	e.wantVerbs(e.resource(apps, "deployments/status"), []string{"get", "patch", "update"})
	scale := e.resource(apps, "deployments/scale")
	if scale.Kind != "Scale" || scale.Group != "autoscaling" || scale.Version != "v1" {
		e.Errorf("the scale is %+v", scale)
	}
}

func discoverAggregated(e *env) {
	const form = asJSON + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for path, want := range map[string][3]string{"/api": {"", "v1", "configmaps"}, "/apis": {"apps", "v1", "deployments"}} {
		a := e.want(e.getAs(form+","+asJSON, path, nil), http.StatusOK)
		if got := a.header.Get("Content-Type"); got != form {
			e.Errorf("%s has Content-Type %q, want %q", path, got, form)
		}
		list := e.decode(a.body)
		if list.GetKind() != "APIGroupDiscoveryList" || !lists(list, want[0], want[1], want[2]) {
			e.Errorf("%s is %s and lacks %v", path, list.GetKind(), want)
		}
	}
}

// lists reports whether an aggregated discovery document holds a resource.
func lists(document *unstructured.Unstructured, group, version, resource string) bool {
	items, _, _ := unstructured.NestedSlice(document.Object, "items")
	for _, item := range items {
		item := item.(map[string]any)
		if name, _, _ := unstructured.NestedString(item, "metadata", "name"); name != group {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(item, "versions")
		for _, v := range versions {
			v := v.(map[string]any)
			resources, _, _ := unstructured.NestedSlice(v, "resources")
			if v["version"] == version && slices.ContainsFunc(resources, func(r any) bool { return r.(map[string]any)["resource"] == resource }) {
				return true
			}
		}
	}
	return false
}

func discoverByClient(e *env) {
	groups, lists, err := e.kube.Discovery().ServerGroupsAndResources()
	if len(groups) == 0 {
		e.Fatalf("discovery found no groups: %v", err)
	}
	listed := map[string]bool{}
	for _, list := range lists {
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
				listed[list.GroupVersion+" "+r.Name] = true
			}
		}
	}
	for _, want := range []string{
		"v1 configmaps", "v1 pods", "v1 secrets", "v1 nodes", "v1 namespaces", "v1 events", "v1 services",
		"apps/v1 deployments", "apps/v1 statefulsets", "apps/v1 daemonsets", "apps/v1 replicasets",
		"batch/v1 jobs", "batch/v1 cronjobs", "coordination.k8s.io/v1 leases", "discovery.k8s.io/v1 endpointslices",
		"networking.k8s.io/v1 ingresses", "rbac.authorization.k8s.io/v1 clusterroles", "storage.k8s.io/v1 storageclasses",
		"apiextensions.k8s.io/v1 customresourcedefinitions",
	} {
		if !listed[want] {
			e.Errorf("discovery does not offer to list and watch %s", want)
		}
	}
}

func discoverUnknown(e *env) {
	for _, path := range []string{"/apis/nothing.example.com", "/apis/nothing.example.com/v1", "/apis/apps/v9", "/api/v9", "/nothing"} {
		e.want(e.get(path, nil), http.StatusNotFound)
	}
}

func discoverVersion(e *env) {
	version := e.object(e.get("/version", nil)).Object
	if version["major"] != "1" || !strings.HasPrefix(version["gitVersion"].(string), "v1.") {
		e.Errorf("the version is %v", version)
	}
}

func discoverHealth(e *env) {
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		if a := e.want(e.getAs("", path, nil), http.StatusOK); string(a.body) != "ok" {
			e.Errorf("%s, want ok", a)
		}
	}
}
