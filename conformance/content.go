package conformance

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
)

var contentCases = []Case{
	{Name: "content/no preference is JSON", run: contentDefault},
	{Name: "content/JSON and protobuf lists hold the same", run: listsAgree},
	{Name: "content/JSON and protobuf watches send the same", run: watchesAgree},
	{Name: "content/JSON and protobuf gets hold the same", run: getsAgree},
	{Name: "content/JSON and protobuf agree on kinds with quantities, times and choices", run: richKindsAgree},
	{Name: "content/a protobuf list begins with its magic and names its kind", run: protobufEnvelope},
	{Name: "content/a protobuf watch says so in its type", run: protobufWatchType},
	{Name: "content/a protobuf bookmark carries its version", run: protobufBookmark},
	{Name: "content/protobuf initial events end with the bookmark that says so", run: protobufInitialEvents},
	{Name: "content/a failure comes in the form that was asked for", run: protobufFailure},
	{Name: "content/the first form that the server knows is taken", run: acceptLists},
	{Name: "content/a form that the server does not know is not acceptable", run: notAcceptable},
	{Name: "content/YAML is understood", run: contentYAML},
	{Name: "content/protobuf is understood in writes", run: writeProtobuf},
	{Name: "content/a body in an unknown form is unsupported", run: unsupportedBody},
	{Name: "content/a large list is compressed for who wants it", run: largeListCompressed},
	{Name: "content/a small list is not compressed", run: smallListNotCompressed},
	{Name: "content/a large protobuf list is compressed for who wants it", run: largeProtobufCompressed},
	{Name: "content/HTTP/1.1 serves lists and watches as well", run: oldHTTP},
	{Name: "content/pages of protobuf go on like those of JSON", run: protobufPages},
}

// fill makes a ConfigMap with all kinds of content.
func (e *env) fill(name string) *corev1.ConfigMap {
	e.Helper()
	cm, err := e.kube.CoreV1().ConfigMaps(e.ns).Create(e.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Labels:          labels{"x": "y"},
			Annotations:     map[string]string{"note": "<é>\n\"quoted\" \u2028 line"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}},
		},
		Data:       map[string]string{"b": "2", "a": "1", "empty": ""},
		BinaryData: map[string][]byte{"bin": {0, 1, 254, 255}},
		Immutable:  new(bool),
	}, metav1.CreateOptions{})
	must(e, err, "creating a ConfigMap with content")
	return cm
}

func contentDefault(e *env) {
	e.create("a", nil)
	for _, form := range []string{"", "*/*"} {
		a := e.getAs(form, e.configMaps(), nil)
		if got := a.header.Get("Content-Type"); got != asJSON {
			e.Errorf("Accept %q gives %q, want JSON", form, got)
		}
		e.wantNames(e.list(a), "a")
	}
}

func listsAgree(e *env) {
	e.fill("a")
	e.fill("b")
	version := e.list(e.get(e.configMaps(), nil)).GetResourceVersion()
	query := params{"resourceVersion": version, "resourceVersionMatch": "Exact"}
	fromJSON, fromProtobuf := &corev1.ConfigMapList{}, &corev1.ConfigMapList{}
	must(e, json.Unmarshal(e.want(e.getAs(asJSON, e.configMaps(), query), 200).body, fromJSON), "decoding JSON")
	e.unprotobuf(e.want(e.getAs(asProtobuf, e.configMaps(), query), 200), fromProtobuf)
	e.wantSame(fromProtobuf, fromJSON)
	if len(fromJSON.Items) != 2 {
		e.Errorf("the lists hold %d objects, want 2", len(fromJSON.Items))
	}
}

func getsAgree(e *env) {
	e.fill("a")
	fromJSON, fromProtobuf := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	must(e, json.Unmarshal(e.want(e.getAs(asJSON, e.configMap("a"), nil), 200).body, fromJSON), "decoding JSON")
	e.unprotobuf(e.want(e.getAs(asProtobuf, e.configMap("a"), nil), 200), fromProtobuf)
	e.wantSame(fromProtobuf, fromJSON)
}

// richKindsAgree takes kinds whose fields have different forms in JSON and in
// protobuf.
func richKindsAgree(e *env) {
	e.newPod("a", func(p *corev1.Pod) {
		p.Spec.TerminationGracePeriodSeconds = new(int64)
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1.5Gi")}
		p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("web")}}}
	})
	e.newDeployment("a")
	e.want(e.post(e.path(core, "services"), `{"metadata":{"name":"a"},"spec":{"clusterIP":"None","ports":[{"name":"a","port":80,"targetPort":"web"},{"name":"b","port":81,"targetPort":8081}]}}`), http.StatusCreated)
	e.want(e.post(e.path("/apis/coordination.k8s.io/v1", "leases"), `{"metadata":{"name":"a"},"spec":{"renewTime":"2026-01-02T03:04:05.678901Z","leaseDurationSeconds":15}}`), http.StatusCreated)
	for path, types := range map[string][2]message{
		e.path(core, "pods", "a"):                             {&corev1.Pod{}, &corev1.Pod{}},
		e.deployment("a"):                                     {&appsv1.Deployment{}, &appsv1.Deployment{}},
		e.path(core, "services", "a"):                         {&corev1.Service{}, &corev1.Service{}},
		e.path("/apis/coordination.k8s.io/v1", "leases", "a"): {&coordinationv1.Lease{}, &coordinationv1.Lease{}},
		core + "/namespaces/" + e.ns:                          {&corev1.Namespace{}, &corev1.Namespace{}},
	} {
		must(e, json.Unmarshal(e.want(e.getAs(asJSON, path, nil), 200).body, types[0]), "decoding JSON")
		e.unprotobuf(e.want(e.getAs(asProtobuf, path, nil), 200), types[1])
		e.wantSame(types[1], types[0])
	}
}

func oldHTTP(e *env) {
	first := e.create("a", nil)
	a := e.want(e.do(e.http1, http.MethodGet, e.configMaps(), nil, accept(asJSON), nil), http.StatusOK)
	e.wantNames(e.list(a), "a")
	response, _ := e.openAs(e.http1, e.configMaps(), params{"resourceVersion": first.ResourceVersion}, accept(asJSON))
	if response.ProtoMajor != 1 {
		e.Errorf("the server answered with %s, want HTTP/1.1", response.Proto)
	}
	w := &stream{e: e, lines: bufio.NewReader(response.Body)}
	e.create("b", nil)
	w.want(watch.Added, "b")
}

func watchesAgree(e *env) {
	first := e.fill("a")
	query := params{"resourceVersion": first.ResourceVersion}
	text, binary := e.watch(e.configMaps(), query), e.watchProtobuf(asProtobuf, e.configMaps(), query)
	e.set("a", "b", "3")
	e.fill("b")
	e.remove("a")
	for range 3 {
		ev, fromJSON := text.next(), &corev1.ConfigMap{}
		must(e, fromUnstructured(ev.object, fromJSON), "reading an event")
		fromProtobuf := &corev1.ConfigMap{}
		kind := binary.next(fromProtobuf)
		if kind != ev.kind {
			e.Errorf("JSON says %s, protobuf %s", ev.kind, kind)
		}
		e.wantSame(fromProtobuf, fromJSON)
	}
}

func protobufEnvelope(e *env) {
	e.create("a", nil)
	a := e.want(e.getAs(asProtobuf, e.configMaps(), nil), 200)
	if got := a.header.Get("Content-Type"); got != asProtobuf {
		e.Errorf("Content-Type %q, want %q", got, asProtobuf)
	}
	unknown := e.envelope(a.body)
	if unknown.Kind != "ConfigMapList" || unknown.APIVersion != "v1" {
		e.Errorf("the envelope names %q of %q, want ConfigMapList of v1", unknown.Kind, unknown.APIVersion)
	}
	if unknown.ContentEncoding != "" || unknown.ContentType != "" {
		e.Errorf("the envelope says encoding %q, type %q, want neither", unknown.ContentEncoding, unknown.ContentType)
	}
}

func protobufWatchType(e *env) {
	w := e.watchProtobuf(asProtobuf, e.configMaps(), nil)
	if got := w.header.Get("Content-Type"); got != asProtobuf+";stream=watch" {
		e.Errorf("Content-Type %q, want %q", got, asProtobuf+";stream=watch")
	}
	e.create("a", nil)
	w.want(watch.Added, "a")
}

func protobufBookmark(e *env) {
	last := e.create("a", nil)
	w := e.watchProtobuf(asProtobuf, e.configMaps(), soon(last.ResourceVersion))
	last = e.create("b", nil)
	w.want(watch.Added, "b")
	mark := w.want(watch.Bookmark, "")
	if e.version(mark) < e.version(last) {
		e.Errorf("a bookmark of version %s, want %s or later", mark.ResourceVersion, last.ResourceVersion)
	}
}

func protobufInitialEvents(e *env) {
	e.create("a", nil)
	w := e.watchProtobuf(asProtobuf, e.configMaps(), initial())
	w.want(watch.Added, "a")
	mark := w.want(watch.Bookmark, "")
	if mark.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		e.Errorf("the bookmark has annotations %v", mark.Annotations)
	}
}

func protobufFailure(e *env) {
	a := e.want(e.getAs(asProtobuf, e.configMap("missing"), nil), http.StatusNotFound)
	if got := a.header.Get("Content-Type"); got != asProtobuf {
		e.Errorf("Content-Type %q, want %q", got, asProtobuf)
	}
	status := &metav1.Status{}
	e.unprotobuf(a, status)
	if status.Reason != metav1.StatusReasonNotFound || status.Code != http.StatusNotFound {
		e.Errorf("the Status is %+v, want one that is not found", status)
	}
}

func acceptLists(e *env) {
	for form, want := range map[string]string{
		asProtobuf + "," + asJSON:                     asProtobuf,
		asProtobuf + ", " + asJSON:                    asProtobuf,
		asJSON + "," + asProtobuf:                     asJSON,
		"application/nonsense," + asJSON:              asJSON,
		"application/nonsense, */*":                   asJSON,
		asJSON + ";q=0.1," + asProtobuf + ";q=0.9":    asProtobuf,
		"text/html, application/xhtml+xml, */*;q=0.8": asJSON,
	} {
		a := e.want(e.getAs(form, e.configMaps(), nil), 200)
		if got := a.header.Get("Content-Type"); got != want {
			e.Errorf("Accept %q gives %q, want %q", form, got, want)
		}
	}
}

func notAcceptable(e *env) {
	for _, form := range []string{"application/nonsense", "text/html", "image/*"} {
		e.wantFailure(e.getAs(form, e.configMaps(), nil), http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable)
		e.wantFailure(e.getAs(form, e.configMaps(), params{"watch": "true"}), http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable)
	}
}

func contentYAML(e *env) {
	body := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: one\n"
	e.want(e.send(http.MethodPost, e.configMaps(), asYAML, body), http.StatusCreated)
	a := e.want(e.getAs(asYAML, e.configMap("a"), nil), 200)
	if got := a.header.Get("Content-Type"); got != asYAML {
		e.Errorf("Content-Type %q, want %q", got, asYAML)
	}
	if !strings.Contains(string(a.body), "\ndata:\n  k: one\n") {
		e.Errorf("%s, want YAML", a)
	}
}

func writeProtobuf(e *env) {
	body := e.protobuf(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string]string{"k": "1"}})
	a := e.do(e.admin, http.MethodPost, e.configMaps(), nil, headers{"Content-Type": asProtobuf, "Accept": asProtobuf}, body)
	created := &corev1.ConfigMap{}
	e.unprotobuf(e.want(a, http.StatusCreated), created)
	if created.Data["k"] != "1" || created.UID == "" {
		e.Errorf("created %+v", created)
	}
	created.Data["k"] = "2"
	a = e.do(e.admin, http.MethodPut, e.configMap("a"), nil, headers{"Content-Type": asProtobuf, "Accept": asJSON}, e.protobuf(created))
	if got := e.object(a).Object["data"].(map[string]any)["k"]; got != "2" {
		e.Errorf("updated to %v, want 2", got)
	}
}

func unsupportedBody(e *env) {
	a := e.send(http.MethodPost, e.configMaps(), "text/plain", `{"metadata":{"name":"a"}}`)
	e.wantFailure(a, http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType)
}

// zipped reads an address as a client that takes gzip and unpacks it itself.
func (e *env) zipped(form string) *answer {
	e.Helper()
	return e.want(e.do(e.admin, http.MethodGet, e.configMaps(), nil, headers{"Accept": form, "Accept-Encoding": "gzip"}, nil), 200)
}

// makeLarge fills the namespace beyond the size from which servers compress.
func (e *env) makeLarge() {
	e.Helper()
	e.create("a", nil)
	e.set("a", "k", strings.Repeat("large ", 50_000))
}

// wantZipped checks that an answer is compressed, and returns what is in it.
func (e *env) wantZipped(a *answer) []byte {
	e.Helper()
	if got := a.header.Get("Content-Encoding"); got != "gzip" {
		e.Fatalf("%d bytes have Content-Encoding %q, want gzip", len(a.body), got)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(a.body))
	must(e, err, "unpacking")
	content, err := io.ReadAll(unpacked)
	must(e, err, "unpacking")
	return content
}

func largeListCompressed(e *env) {
	e.makeLarge()
	a := e.zipped(asJSON)
	plain := e.do(e.admin, http.MethodGet, e.configMaps(), nil, headers{"Accept": asJSON, "Accept-Encoding": "identity"}, nil)
	if got := plain.header.Get("Content-Encoding"); got != "" {
		e.Errorf("Content-Encoding %q for a client that does not take it", got)
	}
	a.body = e.wantZipped(a)
	e.wantSame(e.list(a).Items, e.list(plain).Items)
}

func largeProtobufCompressed(e *env) {
	e.makeLarge()
	a := e.zipped(asProtobuf)
	a.body = e.wantZipped(a)
	list := &corev1.ConfigMapList{}
	e.unprotobuf(a, list)
	if len(list.Items) != 1 {
		e.Errorf("%d items, want 1", len(list.Items))
	}
}

func smallListNotCompressed(e *env) {
	e.create("a", nil)
	if got := e.zipped(asJSON).header.Get("Content-Encoding"); got != "" {
		e.Errorf("a small list has Content-Encoding %q", got)
	}
}

func protobufPages(e *env) {
	e.createAll("a", "b", "c")
	page, rest := &corev1.ConfigMapList{}, &corev1.ConfigMapList{}
	e.unprotobuf(e.want(e.getAs(asProtobuf, e.configMaps(), params{"limit": "2"}), 200), page)
	if len(page.Items) != 2 || page.RemainingItemCount == nil || *page.RemainingItemCount != 1 {
		e.Fatalf("a page of %d items has metadata %+v", len(page.Items), page.ListMeta)
	}
	e.unprotobuf(e.want(e.getAs(asProtobuf, e.configMaps(), params{"continue": page.Continue}), 200), rest)
	if len(rest.Items) != 1 || rest.Items[0].Name != "c" || rest.ResourceVersion != page.ResourceVersion {
		e.Errorf("the rest is %d items of version %s", len(rest.Items), rest.ResourceVersion)
	}
}
