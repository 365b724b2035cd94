package describe_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/kinform/kinform/describe"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var full = describe.Description{
	At: now, Informer: "shared informer", ObjectType: "*v1.StatefulSet", Views: []string{"*v1.StatefulSet", "*unstructured.Unstructured"},
	Source: describe.Source{
		Name: "statefulsets.apps in namespace default", Via: "the API server, as bytes", Resource: "statefulsets.v1.apps",
		Namespaces: []string{"default"}, LabelSelector: "app=web", FieldSelector: "metadata.name!=x", Tweak: "main.tweak",
		Encoding: "protobuf, else json", MetadataOnly: true, List: "LIST, in pages of 500", FromCache: true,
		PageSize: 500, MaxObjectSize: 1000, DropManagedFields: true, Silence: describe.Duration(150 * time.Second),
		Backoff: &describe.Backoff{First: describe.Duration(time.Second), Most: describe.Duration(time.Minute)},
		Policy:  "keep-trying", ErrorHandler: "main.onError",
	},
	Queue:  "one for each handler",
	Resync: describe.Resync{Default: describe.Duration(30 * time.Second), Check: describe.Duration(10 * time.Second)},
	Store: describe.Store{
		Indexes: []string{"namespace", "node"}, Transform: "main.strip", Residency: "automatic", MutationDetector: true,
		Objects: 12, Bytes: 3000, Packed: 700, Held: "protobuf", Rejected: 2, LastRejected: "default/bad, which is no *v1.StatefulSet",
	},
	Sharing: &describe.Sharing{With: []string{"*unstructured.Unstructured"}},
	Handlers: []describe.Handler{
		{Name: "main.controller", Type: "cache.ResourceEventHandlerFuncs", Resync: describe.Duration(30 * time.Second), Synced: true,
			Queue: &describe.Queue{Policy: "every change", Limit: 1024, Waiting: 1, Delivered: 12, Refused: 4, Merged: 3, Panics: 1}},
		{Name: "main.process"},
	},
	Status: describe.Status{Started: true, Stopped: true, Synced: true, Version: "71", Sources: []describe.SourceStatus{{
		Source: "statefulsets.apps in namespace default", State: "waiting", Since: now.Add(-3 * time.Second), Synced: true,
		Reason: "refused", Cause: "watch statefulsets.apps:\n  connection refused", Attempts: 2, NextTry: now.Add(1500 * time.Millisecond),
		Version: "71", LastContact: now.Add(-4 * time.Second), Listed: 12, Received: 3100, Lists: 2, Watches: 3, Expired: 1, Epochs: 1,
	}}},
}

const fullText = `statefulsets.apps in namespace default
  informer              shared informer
  object type           *v1.StatefulSet
  read as               *v1.StatefulSet, *unstructured.Unstructured
  source                the API server, as bytes
    resource            statefulsets.v1.apps
    namespaces          default
    labels              app=web
    fields              metadata.name!=x
    encoding            protobuf, else json, metadata only
    tweaked by          main.tweak
    list                LIST, in pages of 500, the first one from the server's cache
    page size           500
    largest object      1000 bytes
    managed fields      dropped
    silence             at most 2m30s
    backoff             1s, doubled up to 1m0s
    if refused          keep-trying
    error handler       main.onError
  queue                 one for each handler
  resync                every 30s, looked at every 10s
  store                 12 objects, 3000 bytes in 700
    held as             protobuf
    indexes             namespace, node
    transform           main.strip
    decoded objects     automatic
    mutation detector   on
    rejected            2, last default/bad, which is no *v1.StatefulSet
  shares a watch        *unstructured.Unstructured
  handlers              2
    main.controller
      type              cache.ResourceEventHandlerFuncs
      resync            every 30s
      synced            yes
      gets              every change, merged per object if more than 1024 wait
      queue             1 wait, 12 delivered, 3 merged, 4 refused, 1 panics
    main.process
      resync            never
      synced            no
  started               yes, and stopped
  synced                yes
  resource version      71
  status of statefulsets.apps in namespace default
    state               waiting, since 3s ago
    last contact        4s ago
    resource version    71
    last list           12 objects, 3100 bytes
    requests            2 lists, 3 watches, version forgotten 1 times, history went back 1 times
    failing             refused, 2 times: watch statefulsets.apps: connection refused
    next try            in 1.5s
`

func TestText(t *testing.T) {
	if got := full.String(); got != fullText {
		t.Errorf("got\n%s\nwant\n%s", got, fullText)
	}
}

// TestTextIsPlain: nothing that is quoted moves the cursor of a terminal, changes its
// colours, or looks like another line.
func TestTextIsPlain(t *testing.T) {
	const bad = "a\x1b[2Jb\r\nc\u009b1m"
	d := describe.Description{
		Informer: bad, ObjectType: bad, Views: []string{bad}, Queue: bad,
		Source: describe.Source{Name: bad, Via: bad, Resource: bad, Namespaces: []string{bad}, LabelSelector: bad, FieldSelector: bad,
			Tweak: bad, Encoding: bad, List: bad, Compression: bad, Policy: bad, ErrorHandler: bad},
		Store: describe.Store{Held: bad, Indexes: []string{bad}, Transform: bad, Residency: bad, MutationDetection: bad,
			Rejected: 1, LastRejected: bad, Decoded: []describe.Decoded{{Why: bad}}},
		Sharing:  &describe.Sharing{With: []string{bad}},
		Handlers: []describe.Handler{{Name: bad, Type: bad, Queue: &describe.Queue{Policy: bad}}},
		Status: describe.Status{Version: bad, Sources: []describe.SourceStatus{{
			Source: bad, State: bad, Reason: bad, Cause: bad, Version: bad, Snapshot: bad,
		}}},
	}
	text := d.String()
	for line := range strings.Lines(text) {
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl) || strings.HasPrefix(line, "c") {
			t.Errorf("%q", line)
		}
	}
	if n := strings.Count(text, "a [2Jb"); n < 28 {
		t.Errorf("only %d of the texts are shown:\n%s", n, text)
	}
}

const fullJSON = `{"at":"2026-01-02T03:04:05Z","informer":"shared informer","objectType":"*v1.StatefulSet",` +
	`"views":["*v1.StatefulSet","*unstructured.Unstructured"],` +
	`"source":{"name":"statefulsets.apps in namespace default","via":"the API server, as bytes","resource":"statefulsets.v1.apps",` +
	`"namespaces":["default"],"labelSelector":"app=web","fieldSelector":"metadata.name!=x","tweak":"main.tweak",` +
	`"encoding":"protobuf, else json","metadataOnly":true,"list":"LIST, in pages of 500","fromCache":true,"pageSize":500,` +
	`"maxObjectSize":1000,"dropManagedFields":true,"silence":"2m30s","backoff":{"first":"1s","most":"1m0s"},"policy":"keep-trying","errorHandler":"main.onError"},` +
	`"queue":"one for each handler","resync":{"default":"30s","check":"10s"},` +
	`"store":{"indexes":["namespace","node"],"transform":"main.strip","residency":"automatic","mutationDetector":true,"objects":12,` +
	`"bytes":3000,"packed":700,"held":"protobuf","rejected":2,"lastRejected":"default/bad, which is no *v1.StatefulSet"},` +
	`"sharing":{"with":["*unstructured.Unstructured"]},` +
	`"handlers":[{"name":"main.controller","type":"cache.ResourceEventHandlerFuncs","resync":"30s","synced":true,` +
	`"queue":{"policy":"every change","limit":1024,"waiting":1,"delivered":12,"refused":4,"merged":3,"panics":1}},` +
	`{"name":"main.process","synced":false}],` +
	`"status":{"started":true,"stopped":true,"synced":true,"resourceVersion":"71","sources":[{` +
	`"source":"statefulsets.apps in namespace default","state":"waiting","since":"2026-01-02T03:04:02Z","synced":true,"reason":"refused",` +
	`"cause":"watch statefulsets.apps:\n  connection refused","attempts":2,"nextTry":"2026-01-02T03:04:06.5Z","resourceVersion":"71",` +
	`"lastContact":"2026-01-02T03:04:01Z","listed":12,"received":3100,"lists":2,"watches":3,"expired":1,"epochs":1}]}}`

// TestJSON: the names are what programs rely on.
func TestJSON(t *testing.T) {
	got, err := json.Marshal(full)
	if err != nil || string(got) != fullJSON {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, fullJSON)
	}
}

// TestEmpty: one that nothing is known of can be shown.
func TestEmpty(t *testing.T) {
	if text := (describe.Description{}).String(); text == "" {
		t.Error("nothing")
	}
}
