package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// script makes deltas of one object from letters: A added, U updated, D deleted,
// R resynced, each with a state of its own, numbered from 1.
func script(letters string) []Delta {
	var deltas []Delta
	var old *Record
	for i, c := range letters {
		state := &Record{key: "k", number: uint64(i + 1)}
		switch c {
		case 'A':
			deltas = append(deltas, Delta{Kind: Added, New: state})
			old = state
		case 'U':
			deltas = append(deltas, Delta{Kind: Updated, Old: old, New: state})
			old = state
		case 'R':
			deltas = append(deltas, Delta{Kind: Resynced, Old: old, New: old})
		case 'D':
			deltas = append(deltas, Delta{Kind: Deleted, Old: old, New: state})
			old = nil
		}
	}
	return deltas
}

// tell writes deltas as "updated 1→3".
func tell(deltas []Delta) string {
	var parts []string
	for _, d := range deltas {
		old := "-"
		if d.Old != nil {
			old = d.Old.Version().String()
		}
		parts = append(parts, fmt.Sprintf("%s %s→%s", d.Kind, old, d.New.Version()))
	}
	return strings.Join(parts, ", ")
}

func TestMerge(t *testing.T) {
	for _, c := range []struct{ letters, want string }{
		{"", ""},
		{"A", "added -→1"},
		{"AU", "added -→2"},
		{"AUU", "added -→3"},
		{"AD", ""},
		{"AUD", ""},
		{"ADA", "added -→3"},
		{"AR", "added -→1"},
	} {
		if got := tell(merged(script(c.letters))); got != c.want {
			t.Errorf("%s merges to %q, want %q", c.letters, got, c.want)
		}
	}
	// What follows a state that was delivered before.
	for _, c := range []struct{ letters, want string }{
		{"AU", "updated 1→2"},
		{"AUU", "updated 1→3"},
		{"AD", "deleted 1→2"},
		{"AUD", "deleted 1→3"},
		{"ADA", "deleted 1→2, added -→3"},
		{"ADAU", "deleted 1→2, added -→4"},
		{"ADAD", "deleted 1→2"},
		{"ADADA", "deleted 1→2, added -→5"},
		{"AR", "resynced 1→1"},
		{"ARU", "updated 1→3"},
		{"AUR", "updated 1→2"},
		{"ARD", "deleted 1→3"},
	} {
		if got := tell(merged(script(c.letters)[1:])); got != c.want {
			t.Errorf("after its first, %s merges to %q, want %q", c.letters, got, c.want)
		}
	}
}

func merged(deltas []Delta) []Delta {
	q := newDeltaFIFO(Latest, 0)
	for i := range deltas {
		q.push(deltas[i:i+1], false)
	}
	return takeAll(q)
}

func takeAll(q *DeltaFIFO) []Delta {
	var all []Delta
	for some := q.take(); some != nil; some = q.take() {
		all = append(all, some...)
	}
	return all
}

func TestQueueDeliversEverythingUpToItsLimit(t *testing.T) {
	q := newDeltaFIFO(Every, 4)
	all := script("AUUU")
	q.push(all, false)
	if got := q.take(); !slices.Equal(got, all) {
		t.Errorf("took %s, want %s", tell(got), tell(all))
	}
	q.push(script("AUUUU"), false)
	if got := tell(q.take()); got != "added -→5" {
		t.Errorf("past the limit, took %q", got)
	}
	if q.merged != 4 {
		t.Errorf("counts %d merged, want 4", q.merged)
	}
}

func TestQueueStaysAsSmallAsWhatIsLive(t *testing.T) {
	q := newDeltaFIFO(Every, 100)
	state := &Record{key: "k"}
	for range 1_000_000 {
		next := &Record{key: "k"}
		q.push([]Delta{{Kind: Updated, Old: state, New: next}}, false)
		state = next
	}
	if n := q.Len(); n > 200 {
		t.Errorf("%d deltas of one object wait", n)
	}
}

func TestQueueGivesBack(t *testing.T) {
	q := newDeltaFIFO(Every, 0)
	all := script("AUU")
	q.push(all, false)
	q.giveBack(q.take()[1:])
	if got := tell(q.take()); got != tell(all[1:]) {
		t.Errorf("took %q after giving back, want %q", got, tell(all[1:]))
	}
}

func TestInitialEndKeepsItsPlace(t *testing.T) {
	q := newDeltaFIFO(Latest, 0)
	q.push([]Delta{{Kind: Added, New: &Record{key: "a"}}, {Kind: initialEnd}}, false)
	q.push([]Delta{{Kind: Added, New: &Record{key: "b"}}}, false)
	var kinds []Kind
	for _, d := range takeAll(q) {
		kinds = append(kinds, d.Kind)
	}
	if want := []Kind{Added, initialEnd, Added}; !slices.Equal(kinds, want) {
		t.Errorf("took %v, want %v", kinds, want)
	}
}

// TestLatestMergesUntilItIsTaken: what waits behind the delta that was taken is
// merged with what comes, whatever batches it came in.
func TestLatestMergesUntilItIsTaken(t *testing.T) {
	q := newDeltaFIFO(Latest, 0)
	all := script("AUUUUU")
	q.push(all[:1], false)
	q.push(all[1:4], false)
	if got := tell(q.take()); got != "added -→4" {
		t.Errorf("took %q first", got)
	}
	q.push(all[4:], false)
	if got := tell(q.take()); got != "updated 4→6" {
		t.Errorf("took %q after that", got)
	}
	if q.Len() != 0 || q.take() != nil {
		t.Errorf("%d wait after all were taken", q.Len())
	}
	q.giveBack(script("AU")[1:])
	q.push(script("AUU")[2:], false)
	if got := tell(takeAll(q)); got != "updated 1→3" {
		t.Errorf("took %q after giving back", got)
	}
}

// TestListAloneIsNotMerged: no object is twice in a list, so that a queue takes one
// of any length as it is, and merges when more comes.
func TestListAloneIsNotMerged(t *testing.T) {
	var list []Delta
	for i := range 100 {
		list = append(list, Delta{Kind: Added, New: &Record{key: fmt.Sprint(i)}})
	}
	q := newDeltaFIFO(Every, 10)
	q.push(list, true)
	if first := q.batches[0]; len(q.batches) != 1 || &first[0] != &list[0] {
		t.Error("a list was copied")
	}
	next := &Record{key: "0", number: 1}
	q.push([]Delta{{Kind: Updated, Old: list[0].New, New: next}}, false)
	if q.Len() != 100 {
		t.Errorf("%d deltas wait, want 100: the update is merged into the list", q.Len())
	}
	if got := q.take()[0]; got.Kind != Added || got.New != next {
		t.Errorf("took %v of state %d, want added of state 1", got.Kind, got.New.number)
	}
}

// A queue that has been long once merges again at its limit when it has been emptied.
func TestQueueForgetsThatItWasLong(t *testing.T) {
	q := newDeltaFIFO(Every, 100)
	for i := range 10_000 {
		q.push([]Delta{{Kind: Added, New: &Record{key: fmt.Sprint(i)}}}, false)
	}
	takeAll(q)
	for range 5000 {
		q.push([]Delta{{Kind: Updated, Old: &Record{key: "k"}, New: &Record{key: "k"}}}, false)
		if n := q.Len(); n > 200 {
			t.Fatalf("%d deltas of one object wait, the limit is 100", n)
		}
	}
}

// A subscriber of Latest that is blocked holds on to nothing of what came and went.
func TestLatestForgetsWhatCameAndWent(t *testing.T) {
	q := newDeltaFIFO(Latest, 0)
	stays := &Record{key: "stays"}
	q.push([]Delta{{Kind: Added, New: stays}, {Kind: initialEnd}}, false)
	for i := range 100_000 {
		r := &Record{key: fmt.Sprint(i)}
		q.push([]Delta{{Kind: Added, New: r}}, false)
		q.push([]Delta{{Kind: Deleted, Old: r, New: r}}, false)
		q.push([]Delta{{Kind: Updated, Old: stays, New: stays}}, false)
	}
	if n := cap(q.latest.deltas); n > 1000 {
		t.Errorf("the queue has %d places for %d deltas", n, q.Len())
	}
	if got := takeAll(q); len(got) != 2 || got[0].Kind != Added || got[1].Kind != initialEnd {
		t.Errorf("took %d", len(got))
	}
}
