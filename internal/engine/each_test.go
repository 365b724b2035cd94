package engine

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// TestEachUsesWhatIsListed: objects that a list has remembered are not decoded again,
// and an iteration that ends early decodes no more than it came to.
func TestEachUsesWhatIsListed(t *testing.T) {
	c, _ := NewCollection(Options{}, "")
	const n = 1000
	var batch []Change
	for i := range n {
		batch = append(batch, Change{Record: namedRecord(t, c, fmt.Sprint("o", i))})
	}
	c.Edit(batch)
	var calls atomic.Int64 // lists decode on several cores
	v := &View{Name: "counted", Decode: func(r *Record, _ Neighbour) (any, error) {
		calls.Add(1)
		return r.Object(), nil
	}}
	for range c.Each(v) {
		break
	}
	if calls := calls.Load(); calls == 0 || calls >= n {
		t.Errorf("decoded %d of %d objects to yield one", calls, n)
	}
	c.Objects(v)
	calls.Store(0)
	seen := 0
	for r, obj := range c.Each(v) {
		if obj != r.Object() {
			t.Fatalf("%s is given with another object", r.Key())
		}
		seen++
	}
	if calls := calls.Load(); seen != n || calls != 0 {
		t.Errorf("yielded %d of %d objects and decoded %d", seen, n, calls)
	}
}
