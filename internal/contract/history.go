package contract

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform"
)

// history is what truly happened, object by object, as the server itself says.
type history map[string][]delivery

// since returns a story's history: the objects that a list had, and everything
// from then on until an object is seen in its present state.
func (e *env) history(o metav1.ListOptions, listed map[string]object, version string, until object) history {
	e.Helper()
	h := history{}
	for key, o := range listed {
		h[key] = []delivery{deliveryOf(kinform.EventAdded, o)}
	}
	o.ResourceVersion = version
	w, err := e.maps().Watch(e.ctx, o)
	e.must(err, "watching the history")
	defer w.Stop()
	kinds := map[watch.EventType]kinform.EventType{
		watch.Added: kinform.EventAdded, watch.Modified: kinform.EventUpdated, watch.Deleted: kinform.EventDeleted,
	}
	for {
		select {
		case ev := <-w.ResultChan():
			o, ok := ev.Object.(object)
			if !ok {
				e.Fatalf("watching the history: %s %v", ev.Type, ev.Object)
			}
			h[keyOf(o)] = append(h[keyOf(o)], deliveryOf(kinds[ev.Type], o))
			if keyOf(o) == keyOf(until) && o.ResourceVersion == until.ResourceVersion {
				return h
			}
		case <-e.ctx.Done():
			e.Fatalf("the history does not reach %s@%s", keyOf(until), until.ResourceVersion)
		}
	}
}

func deliveryOf(k kinform.EventType, o object) delivery {
	return delivery{kind: k, key: keyOf(o), uid: string(o.UID), version: o.ResourceVersion, value: o.Data[value]}
}

// wantEnd fails unless a witness got the end of the history: for each
// object everything from some moment on, as it happened. The first thing may be
// an Added of what was there already.
func (h history) wantEnd(w *witness) {
	w.e.Helper()
	got := byKey(w.since(0))
	for key, events := range got {
		if len(events) > len(h[key]) {
			w.e.Errorf("%s: got %s %v, while the server says %v", w.name, key, events, h[key])
			delete(got, key)
		}
	}
	for key, happened := range h {
		events := got[key]
		happened = happened[len(happened)-len(events):]
		if len(events) == 0 && h[key][len(h[key])-1].kind != kinform.EventDeleted {
			w.e.Errorf("%s: got nothing of %s, which is there", w.name, key)
		}
		for i, t := range events {
			if !t.is(happened[i], i == 0) {
				w.e.Errorf("%s: got %s %v, while the server says %v", w.name, key, events, h[key])
				break
			}
		}
	}
}

// is reports whether an event is what happened. The first of an object may be of
// a state that it was found in.
func (o delivery) is(happened delivery, first bool) bool {
	same := o.uid == happened.uid && o.version == happened.version && o.value == happened.value
	found := first && o.initial && o.kind == kinform.EventAdded && happened.kind == kinform.EventUpdated
	return same && (o.kind == happened.kind || found)
}
