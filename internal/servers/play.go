package servers

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kinform/kinform/check"
)

const (
	// patience is how long a cache may take to become equal to the server before it
	// counts as never.
	patience = 20 * time.Minute
	// grace is how long the clients may take to be synced before the story begins
	// without them.
	grace = 30 * time.Second
)

// Cell is how one client fared on one server.
type Cell struct {
	Client string
	// Synced: the first list was there before the story began.
	Synced bool
	// Equal: the cache became equal to the server, after Took at most, counted from
	// the last change.
	Equal bool
	Took  time.Duration
	// Chance is the row's, for kinform's caches, and for all where only lists tell.
	Chance bool
	// Difference is what was not equal at last.
	Difference string
	// Status is what the client said of itself at last, if it says anything.
	Status string
	// Explained: while the cache was not equal, the client said that something was
	// wrong, or that what it has is older than the last change.
	Explained bool
	// Silent is for how long it said the contrary.
	Silent time.Duration
	// Violations of the informer's contract that were seen on the way.
	Violations []check.Violation
}

// Result is a row with its cells: client-go, kinform, drop-in.
type Result struct {
	Row   Row
	Cells []Cell
}

// Play has the story happen on the server of a row. It must be called in a bubble of
// testing/synctest.
func Play(ctx context.Context, row Row) (*Result, error) {
	w, err := newWorld(row)
	if err != nil {
		return nil, err
	}
	defer w.server.Close()
	t := &teller{world: w, ctx: ctx}
	t.before()
	all, stop, err := w.start(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	result := &Result{Row: row, Cells: make([]Cell, len(all))}
	for began := time.Now(); time.Since(began) < grace && slices.ContainsFunc(all, func(c *client) bool { return !c.synced() }); {
		t.pass(step)
	}
	for i, c := range all {
		result.Cells[i] = Cell{Client: c.name, Synced: c.synced(), Equal: true, Explained: true,
			Chance: row.Polled || row.Chance && i > 0}
	}
	t.then()
	t.changes()
	compare(ctx, all, result.Cells)
	t.after()
	compare(ctx, all, result.Cells)
	for i, c := range all {
		result.Cells[i].Violations = row.violations(c.checker)
	}
	return result, t.err
}

// start starts the clients.
func (w *world) start(ctx context.Context) (all []*client, stop func(), err error) {
	stop = func() {
		for _, c := range all {
			c.checker.Stop()
			c.stop()
		}
	}
	for _, start := range clients {
		c, err := start(ctx, w.server.Config(), check.Options{List: w.list, Keep: 1 << 16})
		if err != nil {
			stop()
			return nil, nil, err
		}
		c.checker.Subscribe(check.Subscriber{Name: "handler"})
		all = append(all, c)
	}
	return all, stop, nil
}

// compare waits for each client to be equal to the server, and notes how long that
// took.
func compare(ctx context.Context, all []*client, cells []Cell) {
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() { c.compare(ctx, &cells[i]) })
	}
	wg.Wait()
}

func (c *client) compare(ctx context.Context, cell *Cell) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	watched := make(chan []sample)
	watching, stop := context.WithCancel(ctx)
	go func() { watched <- c.watch(watching, began) }()
	stale, err := c.equal(ctx)
	cell.Took = max(cell.Took, time.Since(began))
	stop()
	for _, s := range <-watched {
		if s.silent && s.at.Before(stale) {
			cell.Silent += pulse
			cell.Explained = false
		}
		cell.Status = s.text
	}
	if err != nil {
		cell.Equal = false
		cell.Difference = err.Error()
	}
}

// equal waits until the client is equal to the server, and looks ever more rarely.
// It returns when the client was last seen to be different.
func (c *client) equal(ctx context.Context) (stale time.Time, err error) {
	for pause := time.Second; ; pause = min(2*pause, 15*time.Second) {
		look, cancel := context.WithTimeout(ctx, time.Second)
		err := c.checker.Compare(look)
		cancel()
		if err == nil {
			return stale, nil
		}
		stale = time.Now()
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return stale, err
		}
	}
}

// pulse is how often a client is asked how it fares.
const pulse = time.Second

// sample is what a client said of itself.
type sample struct {
	at     time.Time
	silent bool // it said that all is well, and newer than the last change
	text   string
}

// watch asks a client how it fares until ctx ends.
func (c *client) watch(ctx context.Context, changed time.Time) (all []sample) {
	if c.says == nil {
		return nil
	}
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	for {
		s := c.says()
		all = append(all, sample{time.Now(), !s.Trouble && s.Heard.After(changed), s.Text})
		select {
		case <-tick.C:
		case <-ctx.Done():
			return all
		}
	}
}

// violations are those that count on this server.
func (r Row) violations(c *check.Checker) []check.Violation {
	found, _ := c.Violations()
	return slices.DeleteFunc(found, func(v check.Violation) bool {
		switch v.Rule {
		case check.Store, check.Shadow, check.LateJoiner, check.Indexed:
			return true // the cell says so already
		case check.Version, check.StoreFirst:
			return r.Unordered || r.Rights
		}
		return false
	})
}
