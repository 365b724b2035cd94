package engine

import (
	"fmt"
	"runtime"
	"testing"
	"weak"

	"github.com/kinform/kinform/wire"
)

// TestStoreLetsGoOfWhatIsGone: nothing of the work on a list, in several parts,
// holds on to its records when they have left the store.
func TestStoreLetsGoOfWhatIsGone(t *testing.T) {
	c, parts := NewCollection(Options{}, "")
	if err := c.AddIndex(Indexer{Name: "by name", Values: func(r *Record) ([]string, error) { return []string{r.Name()}, nil }}); err != nil {
		t.Fatal(err)
	}
	in := ingester{collection: c}
	var all []weak.Pointer[Record]
	list := func(n, version int) List {
		var l List
		for i := range n {
			raw := fmt.Appendf(nil, `{"metadata":{"name":"o%d","resourceVersion":"%d"},"data":%q}`, i, version, fmt.Sprint(i*i, version))
			r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, weak.Make(r))
			l.Records = append(l.Records, r)
		}
		return l
	}
	c.Replace(parts[0], list(2*inPlace+9, 1))
	c.Replace(parts[0], list(2*inPlace+7, 2))
	c.Replace(parts[0], list(5, 3))
	c.Replace(parts[0], List{})
	in.held = nil
	runtime.GC()
	left := 0
	for _, w := range all {
		if w.Value() != nil {
			left++
		}
	}
	if c.Len() != 0 || left > 0 {
		t.Errorf("%d objects in the store, %d records are still held", c.Len(), left)
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(&in)
}
