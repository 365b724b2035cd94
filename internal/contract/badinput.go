package contract

import (
	"strings"

	"github.com/kinform/kinform"
)

// Point 10: an object that cannot be scanned, decoded or indexed is reported and
// counted, its last good state kept where there is one, and the rest goes on.
// Nothing that a server sends makes the process panic, hang or grow without
// bound.
var badInput = []story{
	{"a list with an object whose metadata is no metadata", badItem(item(noMetadata))},
	{"a list with an object without a name", badItem(item(noName))},
	{"a list with an object whose labels are no labels", badItem(item(badLabels))},
	{"a protobuf list with an object that cannot be scanned", badItemProtobuf},
	{"a list with an object that is no JSON", badList(kinform.ReasonGarbled, noJSON)},
	{"a list of random bytes", badList(kinform.ReasonGarbled, always(garbage))},
	{"a list that is a page of HTML", badList(kinform.ReasonGarbled, always(page))},
	{"a list that is a status", badList(kinform.ReasonGarbled, always(`{"kind":"Status","apiVersion":"v1","message":"no"}`))},
	{"a list that is empty", badList(kinform.ReasonDisconnected, always(""))},
	{"a list that ends in the middle", badList(kinform.ReasonDisconnected, half)},
	{"a list that stops in the middle", stoppedList},
	{"a list that never ends", endlessList},

	{"an event whose metadata is no metadata", badEvent(1, subject(noMetadata))},
	{"an event whose metadata is no metadata, again and again", badEvent(often, subject(noMetadata))},
	{"an event without a name, again and again", badEvent(often, subject(noName))},
	{"an event of an unknown type, again and again", badEvent(often, event(func(ev fields) { ev["type"] = raw(`"WHATEVER"`) }))},
	{"an event without an object, again and again", badEvent(often, event(func(ev fields) { delete(ev, "object") }))},
	{"an event whose object is none, again and again", badEvent(often, event(func(ev fields) { ev["object"] = raw(`[1,2]`) }))},
	{"an event that is no JSON, again and again", badEvent(often, noJSON)},
	{"an event of random bytes, again and again", badEvent(often, always(garbage))},
	{"a watch that is a page of HTML", badWatch(page)},
	{"a watch that is a JSON string", badWatch(`"no"`)},
	{"an event that ends in the middle", cutEvent(kinform.Options{JSON: true})},
	{"a protobuf event that ends in the middle", cutEvent(kinform.Options{})},
	{"an event that stops in the middle", stoppedEvent},
	{"an event that never ends", endlessEvent},
	{"a protobuf event that claims to be huge", hugeEvent},

	{"the last good state is kept", lastGoodState},
	{"what vanishes while an object is bad", vanishedMeanwhile},
	{"an object that does not fit its type", misfit},
	{"events that are read in other goroutines", readElsewhere},
	{"a custom resource with a field of the wrong type", wrongField},
	{"an index function that panics", panickingIndex},
	{"an index function that panics for what was there before it", panickingLateIndex},
	{"an index function that panics for another object of the same name", panickingReborn},
}

const (
	page    = "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"
	garbage = "\xff\x00\x9c garbage \x01"
	// often is more often than any story sends a thing.
	often = 1 << 30
)

// sick is an informer that gets something bad about the object "victim", and has
// to be well with the others.
type sick struct {
	e   *env
	m   *meddler
	inf *informer
	w   *witness
}

func newSick(e *env, o kinform.Options) *sick {
	e.Helper()
	e.seed("1", "a", "b", "victim")
	cfg := e.config()
	s := &sick{e: e, m: e.meddle(cfg)}
	s.inf = e.informer(cfg, o)
	s.w = e.subscribe(s.inf, "witness", subscribed{})
	return s
}

// sync runs the informer until its watch is open.
func (s *sick) sync() {
	s.e.Helper()
	s.e.sync(s.inf)
	s.w.receives(s.e.update("a", "watched"))
}

// wantWell changes everything again, and fails unless all arrives.
func (s *sick) wantWell() {
	s.e.Helper()
	s.e.update("a", "2")
	s.e.delete("b")
	s.w.receives(s.e.update("victim", "well"))
	s.w.receives(s.e.create("the-end", ""))
	server := s.e.onServer()
	s.e.wantStore(s.inf, server)
	s.w.wantServer(server)
	if st := s.inf.Status(); st.Cause() != nil {
		s.e.Errorf("Status says %q after all is well", st)
	}
}

// wantRejected fails unless so many objects were rejected, and that is reported.
func (e *env) wantRejected(inf informant, n uint64) {
	e.Helper()
	st := inf.Status()
	if st.Rejected != n || st.LastRejected == nil || !strings.Contains(st.String(), "rejected") {
		e.Errorf("Status counts %d rejected objects (%v), want %d", st.Rejected, st.LastRejected, n)
	}
	e.awaitLine(0, "rejected", nil)
}
