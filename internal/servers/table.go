package servers

import (
	"fmt"
	"strings"
	"time"
)

// steps are the times that cells tell apart. They are far enough from each other for
// chance (backoffs and watches have random lengths) not to decide.
var steps = []struct {
	most time.Duration
	text string
}{
	{2 * time.Second, "at once"},
	{2 * time.Minute, "within 2 min"},
	{12 * time.Minute, "within 12 min"},
	{patience, "within 20 min"},
}

// rank is the place of a cell in the steps; after them, the cache never becomes
// equal.
func (c Cell) rank() int {
	if !c.Equal {
		return len(steps)
	}
	rank := 0
	for rank < len(steps)-1 && c.Took > steps[rank].most {
		rank++
	}
	if c.Chance {
		rank = max(rank, 1)
	}
	return rank
}

// String is what stands in the table.
func (c Cell) String() string {
	switch {
	case !c.Equal && !c.Synced:
		return "**never synced**"
	case !c.Equal:
		return "**never**"
	}
	text := "equal " + steps[c.rank()].text
	if !c.Synced {
		text = "synced late, " + text
	}
	return text
}

// Faults returns what is wrong with the row: a cache of kinform's that does not become
// equal, that is later than client-go's without a reason, that says nothing of it, or
// that breaks the contract on the way.
func (r *Result) Faults() []string {
	var found []string
	theirs := r.Cells[0]
	for _, c := range r.Cells[1:] {
		switch {
		case !c.Equal:
			found = append(found, fmt.Sprintf("%s: never equal: %s; it says: %s", c.Client, c.Difference, c.Status))
		case c.rank() > theirs.rank() && r.Row.Reason == "":
			found = append(found, fmt.Sprintf("%s: equal after %v, client-go after %v, and the row has no reason", c.Client, c.Took, theirs.Took))
		}
		if !c.Explained && !r.Row.Unseen {
			found = append(found, fmt.Sprintf("%s: stale for %v while it said that all was well: %s", c.Client, c.Silent, c.Status))
		}
		for _, v := range c.Violations {
			found = append(found, c.Client+": "+v.String())
		}
	}
	return found
}

const head = `# Servers that nobody tuned for

Each row is a server, or something in front of one, with its own behaviour; TestMatrix (internal/servers) plays all of
them, writes this file with -update, and fails when it is not right. On each, three clients with default settings follow the
same ConfigMaps side by side, on the clock of a bubble of testing/synctest: client-go's informer, kinform's own, and kinform's
drop-in. Objects are created, changed, deleted, made again under their names, and changed while the clients must list again;
half an hour later, more of that. A cell says how long after the last change the cache, what was delivered to handlers, and
what is delivered to one that joins late, were equal to the server in every field (package check). *Never* is longer than 20
minutes.

While a cache of kinform's is not equal, ` + "`Status()`" + ` says that something is wrong, or that the state is older than the change;
where no client can know, the remark says so.

| The server | Stands for | client-go | kinform | kinform, drop-in | Remark |
|---|---|---|---|---|---|
`

// Table writes the results down.
func Table(results []*Result) string {
	var b strings.Builder
	b.WriteString(head)
	for _, r := range results {
		var remarks []string
		for _, text := range []string{r.Row.Reason, r.Row.Remark} {
			if text != "" {
				remarks = append(remarks, text)
			}
		}
		if r.Row.Unseen {
			remarks = append(remarks, "nothing shows that they are late")
		}
		if r.Row.Gaps {
			remarks = append(remarks, "what is deleted while no watch is open, no client can know")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.Row.Name, r.Row.Stands,
			r.Cells[0], r.Cells[1], r.Cells[2], strings.Join(remarks, "; "))
	}
	return b.String()
}
