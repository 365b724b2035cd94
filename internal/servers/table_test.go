package servers

import (
	"strings"
	"testing"
	"time"

	"github.com/kinform/kinform/check"
)

// result is a row whose cells are all well, but for what change does to kinform's.
func result(row Row, change func(theirs, ours *Cell)) *Result {
	r := &Result{Row: row}
	for _, name := range []string{"client-go", "kinform", "drop-in"} {
		r.Cells = append(r.Cells, Cell{Client: name, Synced: true, Equal: true, Explained: true})
	}
	change(&r.Cells[0], &r.Cells[1])
	return r
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		row    Row
		change func(theirs, ours *Cell)
		fault  string // "": there is none
		cell   string
	}{
		{"well", Row{}, func(_, _ *Cell) {}, "", "equal at once"},
		{"never equal", Row{}, func(_, ours *Cell) { ours.Equal = false }, "never equal", "**never**"},
		{"never synced", Row{}, func(_, ours *Cell) { ours.Equal, ours.Synced = false, false }, "never equal", "**never synced**"},
		{"never equal, whatever the reason", Row{Reason: "none"}, func(_, ours *Cell) { ours.Equal = false }, "never equal", "**never**"},
		{"later than client-go", Row{}, func(_, ours *Cell) { ours.Took = time.Minute }, "no reason", "equal within 2 min"},
		{"later, with a reason", Row{Reason: "it waits"}, func(_, ours *Cell) { ours.Took = time.Minute }, "", "equal within 2 min"},
		{"as late as client-go", Row{}, func(theirs, ours *Cell) {
			theirs.Took, ours.Took = 3*time.Minute, 11*time.Minute
		}, "", "equal within 12 min"},
		{"left to chance", Row{Reason: "it waits"}, func(_, ours *Cell) { ours.Chance = true }, "", "equal within 2 min"},
		{"in silence", Row{}, func(_, ours *Cell) { ours.Explained, ours.Silent = false, time.Minute }, "all was well", "equal at once"},
		{"what cannot be seen", Row{Unseen: true}, func(_, ours *Cell) { ours.Explained = false }, "", "equal at once"},
		{"against the contract", Row{}, func(_, ours *Cell) { ours.Violations = []check.Violation{{Rule: check.Order}} }, "order", "equal at once"},
		{"client-go never", Row{}, func(theirs, _ *Cell) { theirs.Equal = false }, "", "equal at once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := result(c.row, c.change)
			faults := strings.Join(r.Faults(), "; ")
			if c.fault == "" && faults != "" || !strings.Contains(faults, c.fault) {
				t.Errorf("the faults are %q, want %q", faults, c.fault)
			}
			if got := r.Cells[1].String(); got != c.cell {
				t.Errorf("the cell is %q, want %q", got, c.cell)
			}
		})
	}
}

func TestRowsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rows() {
		if r.Name == "" || r.Stands == "" || seen[r.Name] {
			t.Errorf("row %q stands for %q: each has a name of its own and stands for something", r.Name, r.Stands)
		}
		seen[r.Name] = true
	}
}
