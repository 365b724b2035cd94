package decode

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinform/kinform/internal/engine"
)

// TestSweeps: a large store that is listed every few minutes is not kept decoded; one
// that is listed again soon is, and Decoded says so.
func TestSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := pods(t, 2000, engine.Options{})
		for range 3 {
			a.check(t)
			if m := a.Memory(); m.Kept != 0 || m.Passing > 16<<20 {
				t.Fatalf("%+v: a list every three minutes leaves objects behind", m)
			}
			<-time.After(3 * time.Minute)
		}
		if d := a.Decoded(); len(d) != 0 {
			t.Errorf("%+v: still decoded after three minutes", d)
		}
		a.check(t)
		<-time.After(20 * time.Second)
		again := time.Now()
		a.check(t)
		d := a.Decoded()
		if len(d) == 0 || d[0].Why != engine.ForLists || d[0].Objects != 2000 || d[0].Bytes != a.Memory().Kept || !d[0].Since.Equal(again) {
			t.Errorf("%+v: want 2000 pods for lists, since %v", d, again)
		}
		first := a.list()[0]
		<-time.After(20 * time.Second)
		if a.list()[0] != first {
			t.Error("a list every twenty seconds decodes again")
		}
		<-time.After(3 * time.Minute)
		if d := a.Decoded(); len(d) != 0 {
			t.Errorf("%+v: still decoded after three minutes", d)
		}
	})
}

// TestSmallStoreIsKept: objects that weigh little are kept when they are first listed.
func TestSmallStoreIsKept(t *testing.T) {
	a := pods(t, 100, engine.Options{})
	first := a.list()
	for i, pod := range a.list() {
		if pod != first[i] {
			t.Fatalf("%s is decoded again", pod.Name)
		}
	}
}
