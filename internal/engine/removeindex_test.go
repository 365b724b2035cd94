package engine

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRemoveIndex(t *testing.T) {
	c, _ := NewCollection(Options{}, "")
	calls := map[string]int{}
	add := func(name string) {
		t.Helper()
		err := c.AddIndex(Indexer{Name: name, Values: func(r *Record) ([]string, error) {
			calls[name]++
			return []string{name + " of " + r.Name()}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"first", "second", "third"} {
		add(name)
	}
	c.Edit([]Change{{Record: namedRecord(t, c, "a")}})
	if err := c.RemoveIndex("second"); err != nil {
		t.Fatal(err)
	}
	if err := c.RemoveIndex("second"); !errors.Is(err, errNoIndex) {
		t.Errorf("removed twice: %v", err)
	}
	clear(calls)
	c.Edit([]Change{{Record: namedRecord(t, c, "b")}})
	if calls["first"] != 1 || calls["second"] != 0 || calls["third"] != 1 {
		t.Errorf("calls for one change: %v", calls)
	}
	for _, name := range []string{"first", "third"} {
		values := c.IndexValues(name)
		slices.Sort(values)
		if want := []string{name + " of a", name + " of b"}; !slices.Equal(values, want) {
			t.Errorf("index %q has %q, want %q", name, values, want)
		}
	}
	if got := c.IndexValues("second"); got != nil {
		t.Errorf("the removed index has %q", got)
	}
	add("second")
	if got := len(c.IndexValues("second")); got != 2 {
		t.Errorf("added again, it has %d values", got)
	}
}

func namedRecord(t *testing.T, c *Collection, name string) *Record {
	t.Helper()
	r, err := c.NewRecord(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
