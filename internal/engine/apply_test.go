package engine

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
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

// TestIndexFunctionMayReuseItsMemory: what it returned is copied before it is called
// for the next object.
func TestIndexFunctionMayReuseItsMemory(t *testing.T) {
	c, parts := NewCollection(Options{}, "")
	buf := make([]string, 2)
	reuses := func(r *Record) ([]string, error) {
		buf[0], buf[1] = r.Name(), "all"
		return buf, nil
	}
	one := func(r *Record) ([]string, error) {
		buf[0] = r.Name()
		return buf[:1], nil
	}
	in := ingester{collection: c}
	var list List
	for i := range 700 {
		raw := fmt.Appendf(nil, `{"metadata":{"name":"o%d","resourceVersion":"%d"}}`, i, i+1)
		r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
		if err != nil {
			t.Fatal(err)
		}
		list.Records = append(list.Records, r)
	}
	if err := c.AddIndex(Indexer{Name: "before", Values: reuses}); err != nil {
		t.Fatal(err)
	}
	if err := c.AddIndex(Indexer{Name: "one", Values: one}); err != nil {
		t.Fatal(err)
	}
	c.Replace(parts[0], list)
	if err := c.AddIndex(Indexer{Name: "after", Values: reuses}); err != nil {
		t.Fatal(err)
	}
	for _, index := range []string{"before", "one", "after"} {
		for r := range c.All() {
			found := slices.Collect(c.ByIndex(index, r.Name()))
			if len(found) != 1 || found[0] != r {
				t.Fatalf("index %s has %d records under %s", index, len(found), r.Name())
			}
		}
	}
	if n := len(slices.Collect(c.ByIndex("after", "all"))); n != 700 {
		t.Errorf("%d of 700 records are under the value that all have", n)
	}
}

// TestOddIdentities: whatever is written as uid comes back, and no two are taken for
// the same or for none.
func TestOddIdentities(t *testing.T) {
	texts := []string{"", "00000000-0000-0000-0000-000000000000", "6f2a4d6e-91f2-4d0c-8c1e-0f3a5b7c9d11",
		"6F2A4D6E-91F2-4D0C-8C1E-0F3A5B7C9D11", "6f2a4d6e-91f2-4d0c-8c1e-0f3a5b7c9d1g", "anything"}
	c, _ := NewCollection(Options{}, "")
	in := ingester{collection: c}
	var records []*Record
	for i, text := range texts {
		raw := fmt.Appendf(nil, `{"metadata":{"name":"o","uid":%q,"resourceVersion":"%d"}}`, text, i+1)
		r, err := in.record(Item{Format: wire.JSON, Bytes: raw}, false)
		if err != nil {
			t.Fatal(err)
		}
		if r.UID() != text {
			t.Errorf("uid %q came back as %q", text, r.UID())
		}
		for j, other := range records {
			if known := texts[j] != ""; r.another(other) != known {
				t.Errorf("%q and %q are of different objects: %v, want %v", text, texts[j], r.another(other), known)
			}
		}
		records = append(records, r)
	}
}

// Programs that change the store leave nothing behind either.
func TestEditsLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, mode := range []Residency{Automatic, AlwaysDecoded} {
			f := newBulky(t, mode)
			var gone []Change
			for i := range 5000 {
				f.put(fmt.Sprint(i), "u", 100)
				f.read(fmt.Sprint(i))
				gone = append(gone, Change{Record: f.Get(fmt.Sprint(i)), Gone: true})
			}
			for len(gone) > 0 {
				f.Edit(gone[:500])
				gone = gone[500:]
			}
			if n := f.table.records.Slots(); n > 1024 {
				t.Errorf("%d slots for %d objects", n, f.Len())
			}
			<-time.After(4 * idle)
			if m := f.memory(); m.Kept != 0 || m.Passing != 0 || m.Young != 0 {
				t.Errorf("mode %d: nothing is left, and weighs %+v", mode, m)
			}
		}
	})
}
