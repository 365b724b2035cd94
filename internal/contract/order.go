package contract

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
)

// Point 1: for one subscriber, calls never overlap, and the states of one object
// arrive in the server's order: Added, then any number of Updated, then Deleted;
// never Updated or Deleted before Added.
var order = []story{
	{"an object is added, updated, deleted", lifeOfAnObject},
	{"the server's order under many writers, and no overlapping calls", hammered},
}

func lifeOfAnObject(e *env) {
	e.create("before", "0")
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)

	created := e.create("life", "1")
	updated := e.update("life", "2")
	again := e.update("life", "3")
	e.delete("life")
	second := e.create("life", "4")
	w.receives(second)

	want := []struct {
		kind kinform.EventType
		of   object
		old  string
	}{
		{kinform.EventAdded, created, ""},
		{kinform.EventUpdated, updated, created.ResourceVersion},
		{kinform.EventUpdated, again, updated.ResourceVersion},
		{kinform.EventDeleted, again, again.ResourceVersion}, // at a version of its own
		{kinform.EventAdded, second, ""},
	}
	got := byKey(w.since(0))[e.key("life")]
	if len(got) != len(want) {
		e.Fatalf("got %v, want %d events", got, len(want))
	}
	for i, t := range got {
		o := want[i].of
		same := t.version == o.ResourceVersion
		if t.kind == kinform.EventDeleted {
			same = number(t.version) > number(o.ResourceVersion)
		}
		if t.kind != want[i].kind || t.uid != string(o.UID) || t.value != o.Data[value] || t.old != want[i].old || !same || t.initial || t.final {
			e.Errorf("event %d is %v, want %s of version %s", i, t, want[i].kind, o.ResourceVersion)
		}
	}
}

func hammered(e *env) {
	objects := names("o", 6)
	e.seed("0", objects[:3]...)
	listed, version := e.list(metav1.ListOptions{})

	inf := e.informer(e.config(), kinform.Options{})
	var witnesses []*witness
	for i := range 3 {
		witnesses = append(witnesses, e.subscribe(inf, fmt.Sprintf("witness %d", i), subscribed{}))
	}
	e.run(inf)
	c := &churn{e: e, names: objects, writers: 6, steps: 40}
	c.run()
	end := e.create("the-end", "")

	h := e.history(metav1.ListOptions{}, listed, version, end)
	for _, w := range witnesses {
		w.receives(end)
		h.wantEnd(w)
	}
	e.wantStore(inf, e.onServer())
}
