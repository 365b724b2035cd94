package conformance

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// The forms of an object that hold its metadata only. The server cuts; a client
// that needs no more saves the rest.
const (
	metadataOf         = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataListOf     = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	metaVersion        = "meta.k8s.io/v1"
	metadataWatchJSON  = asJSON + metadataOf
	metadataWatchProto = asProtobuf + metadataOf
)

var metadataCases = []Case{
	{Name: "metadata only/a get in JSON", run: metadataGet},
	{Name: "metadata only/a list in JSON", run: metadataList},
	{Name: "metadata only/a list in protobuf holds the same as in JSON", run: metadataListsAgree},
	{Name: "metadata only/a watch in JSON", run: metadataWatch},
	{Name: "metadata only/a watch in protobuf", run: metadataWatchProtobuf},
	{Name: "metadata only/a bookmark is of the same kind", run: metadataBookmark},
	{Name: "metadata only/initial events end with the bookmark that says so", run: metadataInitialEvents},
	{Name: "metadata only/pages go on like those of whole objects", run: metadataPages},
	{Name: "metadata only/a client may fall back to whole objects", run: metadataFallback},
}

// wantMetadata checks that an object is nothing but its metadata, and says so:
// unlike the items of other lists, these name their kind in lists, too.
func (e *env) wantMetadata(content map[string]any, name string) {
	e.Helper()
	if content["kind"] != "PartialObjectMetadata" || content["apiVersion"] != metaVersion || len(content) != 3 {
		e.Errorf("%s is %v, want metadata only, and named so", name, content)
	}
	if got := content["metadata"].(map[string]any); got["name"] != name || got["uid"] == nil || got["resourceVersion"] == nil {
		e.Errorf("metadata %v, want all of %s", got, name)
	}
}

func metadataGet(e *env) {
	e.fill("a")
	a := e.want(e.getAs(asJSON+metadataOf, e.configMap("a"), nil), 200)
	if got := a.header.Get("Content-Type"); got != asJSON {
		e.Errorf("Content-Type %q, want %q", got, asJSON)
	}
	e.wantMetadata(e.decode(a.body).Object, "a")
}

func metadataList(e *env) {
	e.fill("a")
	list := e.list(e.getAs(asJSON+metadataListOf, e.configMaps(), nil))
	if list.GetKind() != "PartialObjectMetadataList" || list.GetAPIVersion() != metaVersion {
		e.Errorf("the list is %s of %s", list.GetKind(), list.GetAPIVersion())
	}
	e.version(list)
	e.wantNames(list, "a")
	e.wantMetadata(list.Items[0].Object, "a")
	whole := e.object(e.get(e.configMap("a"), nil))
	e.wantSame(list.Items[0].Object["metadata"], whole.Object["metadata"])
}

func metadataListsAgree(e *env) {
	e.fill("a")
	e.fill("b")
	version := e.list(e.get(e.configMaps(), nil)).GetResourceVersion()
	query := params{"resourceVersion": version, "resourceVersionMatch": "Exact"}
	fromJSON, fromProtobuf := &metav1.PartialObjectMetadataList{}, &metav1.PartialObjectMetadataList{}
	must(e, json.Unmarshal(e.want(e.getAs(asJSON+metadataListOf, e.configMaps(), query), 200).body, fromJSON), "decoding JSON")
	e.unprotobuf(e.want(e.getAs(asProtobuf+metadataListOf, e.configMaps(), query), 200), fromProtobuf)
	if len(fromJSON.Items) != 2 {
		e.Errorf("%d items, want 2", len(fromJSON.Items))
	}
	for i := range fromJSON.Items {
		fromJSON.Items[i].TypeMeta = metav1.TypeMeta{} // not repeated in protobuf
	}
	e.wantSame(fromProtobuf, fromJSON)
}

func metadataWatch(e *env) {
	first := e.fill("a")
	w := e.watchAs(metadataWatchJSON, e.configMaps(), params{"resourceVersion": first.ResourceVersion})
	if got := w.header.Get("Content-Type"); got != asJSON {
		e.Errorf("Content-Type %q, want %q", got, asJSON)
	}
	e.set("a", "b", "3")
	e.remove("a")
	e.wantMetadata(w.want(watch.Modified, "a").object.Object, "a")
	e.wantMetadata(w.want(watch.Deleted, "a").object.Object, "a")
}

func metadataWatchProtobuf(e *env) {
	first := e.fill("a")
	w := e.watchProtobuf(metadataWatchProto, e.configMaps(), params{"resourceVersion": first.ResourceVersion})
	if got := w.header.Get("Content-Type"); got != asProtobuf+";stream=watch" {
		e.Errorf("Content-Type %q, want %q", got, asProtobuf+";stream=watch")
	}
	written := e.set("a", "b", "3")
	partial := &metav1.PartialObjectMetadata{}
	if kind := w.next(partial); kind != watch.Modified || partial.Name != "a" || partial.ResourceVersion != written.GetResourceVersion() {
		e.Errorf("the watch said %s of %s, version %s", kind, partial.Name, partial.ResourceVersion)
	}
	if partial.Kind != "PartialObjectMetadata" || partial.APIVersion != metaVersion {
		e.Errorf("the envelope names %s of %s", partial.Kind, partial.APIVersion)
	}
	e.wantSame(partial.Labels, written.GetLabels())
}

func metadataBookmark(e *env) {
	last := e.create("a", nil)
	w := e.watchAs(metadataWatchJSON, e.configMaps(), soon(last.ResourceVersion))
	e.create("b", nil)
	w.want(watch.Added, "b")
	mark := w.wantBookmark()
	if mark.object.GetKind() != "PartialObjectMetadata" || mark.object.GetAPIVersion() != metaVersion {
		e.Errorf("the bookmark is %s", mark.frame)
	}
}

func metadataInitialEvents(e *env) {
	e.createAll("a", "b")
	e.watchAs(metadataWatchJSON, e.configMaps(), initial()).wantInitial("a", "b")
	w := e.watchProtobuf(metadataWatchProto, e.configMaps(), initial())
	for range 2 {
		if kind := w.next(&metav1.PartialObjectMetadata{}); kind != watch.Added {
			e.Fatalf("an initial event is %s", kind)
		}
	}
	mark := &metav1.PartialObjectMetadata{}
	if kind := w.next(mark); kind != watch.Bookmark || mark.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		e.Errorf("after the initial events came %s with %v", kind, mark.Annotations)
	}
}

func metadataPages(e *env) {
	e.createAll("a", "b", "c")
	page := e.list(e.getAs(asJSON+metadataListOf, e.configMaps(), params{"limit": "2"}))
	e.wantNames(page, "a", "b")
	if count := page.GetRemainingItemCount(); count == nil || *count != 1 {
		e.Errorf("remaining %v, want 1", count)
	}
	rest := e.list(e.getAs(asJSON+metadataListOf, e.configMaps(), params{"continue": page.GetContinue()}))
	e.wantNames(rest, "c")
}

func metadataFallback(e *env) {
	e.create("a", nil)
	for form, kind := range map[string]string{
		asJSON + ";as=Nothing;g=meta.k8s.io;v=v1," + asJSON: "ConfigMapList",
		asJSON + metadataListOf + "," + asJSON:              "PartialObjectMetadataList",
	} {
		if got := e.list(e.getAs(form, e.configMaps(), nil)).GetKind(); got != kind {
			e.Errorf("Accept %q gives a %s, want %s", form, got, kind)
		}
	}
	e.want(e.getAs(asJSON+";as=Nothing;g=meta.k8s.io;v=v1", e.configMaps(), nil), 406)
}
