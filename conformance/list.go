package conformance

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var listCases = []Case{
	{Name: "list/an empty list has a kind, a version, and an empty array", run: emptyList},
	{Name: "list/the items of a built-in list name no kind of their own", run: itemsWithoutKind},
	{Name: "list/a built-in list gives its version before its items", run: listVersionFirst},
	{Name: "list/items are in the order of namespace and name", run: listOrder},
	{Name: "list/over all namespaces", run: listAllNamespaces},
	{Name: "list/of one namespace only", run: listOneNamespace},
	{Name: "list/of a namespace that does not exist is empty", run: listUnknownNamespace},
	{Name: "list/of resources outside namespaces", run: listClusterScoped},
	{Name: "list/an item is what get shows", run: listItemEqualsGet},
	{Name: "list/version 0 takes any state that is there", run: listAnyVersion},
	{Name: "list/a version alone means not older than it", run: listVersionAlone},
	{Name: "list/not older than a version includes its write", run: listNotOlderThan},
	{Name: "list/not older than 0 takes any state", run: listNotOlderThanZero},
	{Name: "list/exactly a version shows the state of then", run: listExact},
	{Name: "list/exactly a version between writes of other resources", run: listExactBetween},
	{Name: "list/a version of the future is a time-out that names its cause", run: listFuture},
	{Name: "list/exactly a version of the future is a time-out that names its cause", run: listExactFuture},
	{Name: "list/combinations of version and match that make no sense are invalid", run: listInvalidCombinations},
	{Name: "list/a version that is no number is a bad request", run: listBadVersion},
	{Name: "list/with a version and a limit", run: listVersionAndLimit},
	{Name: "list/a get may ask for a version not older than", run: getAtVersion},
	{Name: "list/a get of a version of the future is a time-out", run: getFuture},
}

func emptyList(e *env) {
	a := e.get(e.configMaps(), nil)
	list := e.list(a)
	if list.GetKind() != "ConfigMapList" || list.GetAPIVersion() != "v1" {
		e.Errorf("%s, want a v1 ConfigMapList", a)
	}
	e.version(list)
	if len(list.Items) != 0 || list.GetContinue() != "" || list.GetRemainingItemCount() != nil {
		e.Errorf("%s, want nothing but a version", a)
	}
}

func itemsWithoutKind(e *env) {
	e.createAll("a")
	list := e.list(e.get(e.configMaps(), nil))
	e.wantNames(list, "a")
	if item := list.Items[0]; item.GetKind() != "" || item.GetAPIVersion() != "" {
		e.Errorf("an item names kind %q of %q, want neither", item.GetKind(), item.GetAPIVersion())
	}
}

// listVersionFirst is what every client meets, though nobody promises it: who
// reads a list as it arrives knows its version from the start.
func listVersionFirst(e *env) {
	e.createAll("a")
	body := e.want(e.get(e.configMaps(), nil), http.StatusOK).body
	if !bytes.HasPrefix(body, []byte(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"`)) {
		e.Errorf("the list begins with %.200s, want kind, group version and version", body)
	}
	raw := e.envelope(e.want(e.getAs(asProtobuf, e.configMaps(), nil), http.StatusOK).body).Raw
	if tag := raw[0]; tag>>3 != 1 {
		e.Errorf("the protobuf list begins with field %d, want its metadata, field 1", tag>>3)
	}
}

func listOrder(e *env) {
	e.createAll("b", "a-b", "a", "c", "a.b", "ab")
	e.wantNames(e.list(e.get(e.configMaps(), nil)), "a", "a-b", "a.b", "ab", "b", "c")
}

func listAllNamespaces(e *env) {
	first := e.ns
	mark := labels{"case": first}
	e.create("b", mark)
	e.ns = e.newNamespace()
	e.create("a", mark)
	list := e.list(e.get(core+"/configmaps", params{"labelSelector": "case=" + first}))
	want := []string{"a", "b"}
	if first < e.ns {
		want = []string{"b", "a"}
	}
	e.wantNames(list, want...)
}

func listOneNamespace(e *env) {
	e.create("a", nil)
	e.ns = e.newNamespace()
	e.create("b", nil)
	e.wantNames(e.list(e.get(e.configMaps(), nil)), "b")
}

func listUnknownNamespace(e *env) {
	list := e.list(e.get(core+"/namespaces/"+e.ns+"-missing/configmaps", nil))
	e.wantNames(list)
	e.version(list)
}

func listClusterScoped(e *env) {
	role := e.newClusterRole(labels{"case": e.ns})
	list := e.list(e.get(rbac+"/clusterroles", params{"labelSelector": "case=" + e.ns}))
	e.wantNames(list, role.Name)
}

func listItemEqualsGet(e *env) {
	e.create("a", labels{"x": "y"})
	e.set("a", "k", "1")
	item := e.list(e.get(e.configMaps(), nil)).Items[0]
	got := e.object(e.get(e.configMap("a"), nil))
	delete(got.Object, "kind")
	delete(got.Object, "apiVersion")
	e.wantSame(item.Object, got.Object)
}

func listAnyVersion(e *env) {
	e.version(e.list(e.get(e.configMaps(), params{"resourceVersion": "0"})))
}

func listVersionAlone(e *env) {
	e.create("a", nil)
	last := e.create("b", nil)
	list := e.list(e.get(e.configMaps(), params{"resourceVersion": last.ResourceVersion}))
	e.wantNames(list, "a", "b")
	if e.version(list) < e.version(last) {
		e.Errorf("version %s, want %s or later", list.GetResourceVersion(), last.ResourceVersion)
	}
}

func listNotOlderThan(e *env) {
	for i, name := range []string{"a", "b", "c"} {
		written := e.create(name, nil)
		list := e.list(e.get(e.configMaps(), params{"resourceVersion": written.ResourceVersion, "resourceVersionMatch": "NotOlderThan"}))
		if e.version(list) < e.version(written) || len(list.Items) != i+1 {
			e.Errorf("version %s with %v, want %s of %s or later", list.GetResourceVersion(), namesOf(list), name, written.ResourceVersion)
		}
	}
}

func listNotOlderThanZero(e *env) {
	e.version(e.list(e.get(e.configMaps(), params{"resourceVersion": "0", "resourceVersionMatch": "NotOlderThan"})))
}

func listExact(e *env) {
	e.create("a", nil)
	then := e.create("b", nil)
	e.set("a", "k", "later")
	e.create("c", nil)
	e.remove("b")
	list := e.list(e.get(e.configMaps(), params{"resourceVersion": then.ResourceVersion, "resourceVersionMatch": "Exact"}))
	e.wantNames(list, "a", "b")
	if list.GetResourceVersion() != then.ResourceVersion {
		e.Errorf("the list is of version %s, want %s", list.GetResourceVersion(), then.ResourceVersion)
	}
	if data := list.Items[0].Object["data"]; data != nil {
		e.Errorf("the list shows %v, which was written later", data)
	}
}

func listExactBetween(e *env) {
	e.create("a", nil)
	role := e.newClusterRole(nil)
	e.create("b", nil)
	list := e.list(e.get(e.configMaps(), params{"resourceVersion": role.ResourceVersion, "resourceVersionMatch": "Exact"}))
	e.wantNames(list, "a")
	if list.GetResourceVersion() != role.ResourceVersion {
		e.Errorf("the list is of version %s, want %s", list.GetResourceVersion(), role.ResourceVersion)
	}
}

// future is a version that the server will not reach.
func (e *env) future() string {
	e.Helper()
	return strconv.FormatUint(e.version(e.list(e.get(e.configMaps(), nil)))+1_000_000_000, 10)
}

// wantTooLarge checks the answer to a version of the future. The cause is what
// tells a client to start over instead of asking again.
func (e *env) wantTooLarge(a *answer) {
	e.Helper()
	status := e.wantFailure(a, http.StatusGatewayTimeout, metav1.StatusReasonTimeout)
	if status.Details == nil || len(status.Details.Causes) != 1 || status.Details.Causes[0].Type != metav1.CauseTypeResourceVersionTooLarge {
		e.Fatalf("%s, want the cause %s", a, metav1.CauseTypeResourceVersionTooLarge)
	}
	if status.Details.RetryAfterSeconds != 1 || a.header.Get("Retry-After") != "1" {
		e.Errorf("%s with Retry-After %q, want to be asked again in a second", a, a.header.Get("Retry-After"))
	}
	if !strings.Contains(status.Message, "Too large resource version") {
		e.Errorf("message %q, want it to say: Too large resource version", status.Message)
	}
}

func listFuture(e *env) {
	e.wantTooLarge(e.get(e.configMaps(), params{"resourceVersion": e.future()}))
}

func listExactFuture(e *env) {
	e.wantTooLarge(e.get(e.configMaps(), params{"resourceVersion": e.future(), "resourceVersionMatch": "Exact"}))
}

func listInvalidCombinations(e *env) {
	at := e.create("a", nil).ResourceVersion
	e.create("b", nil)
	page := e.list(e.get(e.configMaps(), params{"limit": "1"}))
	for _, query := range []params{
		{"resourceVersionMatch": "Exact"},
		{"resourceVersionMatch": "NotOlderThan"},
		{"resourceVersion": "0", "resourceVersionMatch": "Exact"},
		{"resourceVersion": at, "resourceVersionMatch": "Newest"},
		{"resourceVersion": at, "resourceVersionMatch": "Exact", "continue": page.GetContinue()},
		{"resourceVersionMatch": "NotOlderThan", "resourceVersion": "0", "continue": page.GetContinue()},
		{"sendInitialEvents": "true"},
		{"sendInitialEvents": "false", "resourceVersion": at, "resourceVersionMatch": "NotOlderThan"},
	} {
		e.wantFailure(e.get(e.configMaps(), query), http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	}
}

func listBadVersion(e *env) {
	for _, query := range []params{
		{"resourceVersion": "latest"},
		{"resourceVersion": "-1"},
		{"resourceVersion": "latest", "resourceVersionMatch": "NotOlderThan"},
		{"resourceVersion": "latest", "resourceVersionMatch": "Exact"},
	} {
		e.wantFailure(e.get(e.configMaps(), query), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}
}

func listVersionAndLimit(e *env) {
	last := e.createAll("a", "b", "c")
	for _, match := range []string{"NotOlderThan", "Exact", ""} {
		query := params{"resourceVersion": last.ResourceVersion, "limit": "2"}
		if match != "" {
			query["resourceVersionMatch"] = match
		}
		page := e.list(e.get(e.configMaps(), query))
		e.wantNames(page, "a", "b")
		rest := e.list(e.get(e.configMaps(), params{"continue": page.GetContinue()}))
		e.wantNames(rest, "c")
		if page.GetResourceVersion() != rest.GetResourceVersion() {
			e.Errorf("match %q: pages of versions %s and %s", match, page.GetResourceVersion(), rest.GetResourceVersion())
		}
	}
}

func getAtVersion(e *env) {
	created := e.create("a", nil)
	for _, at := range []string{"0", created.ResourceVersion} {
		a := e.get(e.configMap("a"), params{"resourceVersion": at})
		if at == "0" && a.code == http.StatusNotFound {
			continue // a state from before the write is any state, too
		}
		if got := e.object(a).GetResourceVersion(); got != created.ResourceVersion {
			e.Errorf("at %s: version %s, want %s", at, got, created.ResourceVersion)
		}
	}
}

func getFuture(e *env) {
	e.create("a", nil)
	e.wantTooLarge(e.get(e.configMap("a"), params{"resourceVersion": e.future()}))
}
