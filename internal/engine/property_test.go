package engine

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

var (
	propertySeed  = flag.Uint64("property.seed", 0, "run the random histories of this seed only")
	propertySeeds = flag.Int("property.seeds", 300, "how many random histories to run")
)

// TestRandomHistories plays random histories to an informer and to a simple
// model. At every quiet point the store, the index and each subscriber's replayed
// view equal the model.
func TestRandomHistories(t *testing.T) {
	if *propertySeed != 0 {
		playHistory(t, *propertySeed)
		return
	}
	for seed := range uint64(*propertySeeds) {
		if t.Run(fmt.Sprint(seed+1), func(t *testing.T) { playHistory(t, seed+1) }); t.Failed() {
			t.Fatalf("repeat with -run TestRandomHistories -property.seed=%d", seed+1)
		}
	}
}

func playHistory(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(seed, seed))
		m := newModel()
		for range rnd.IntN(10) {
			m.put(fmt.Sprint("t", rnd.IntN(12)), "red")
		}
		inf := NewInformer(Options{}, ReflectorOptions{WatchList: rnd.IntN(4) == 0}, map[string]Source{"": m})
		if err := inf.AddIndex(byColor); err != nil {
			t.Fatal(err)
		}
		p := &player{t: t, rnd: rnd, model: m, inf: inf}
		stop := p.start()
		defer func() { stop() }()
		for range 40 + rnd.IntN(80) {
			p.step(&stop)
		}
		m.setDown(false)
		p.compare()
	})
}

var byColor = Indexer{Name: "color", Values: func(r *Record) ([]string, error) {
	return []string{r.Labels().Get("color")}, nil
}}

type player struct {
	t     *testing.T
	rnd   *rand.Rand
	model *model
	inf   *Informer
	subs  []*replay
	undo  func() // restores a backup of the model
}

// start runs the informer; the result stops it and waits.
func (p *player) start() func() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := p.inf.Run(ctx); err != nil {
			p.t.Error(err)
		}
	}()
	return func() { cancel(); <-ended }
}

func (p *player) step(stop *func()) {
	switch n := p.rnd.IntN(100); {
	case n < 80:
		p.model.randomStep(p.rnd)
	case n < 86:
		p.subs = append(p.subs, newReplay(p.t, p.inf, p.rnd))
	case n < 89 && len(p.subs) > 0:
		i := p.rnd.IntN(len(p.subs))
		p.subs[i].sub.Stop()
		p.subs[i].stopped = true
		p.subs = append(p.subs[:i], p.subs[i+1:]...)
	case n < 91:
		(*stop)()
		*stop = p.start()
	case n < 92:
		p.undo = p.model.backup()
	case n < 93 && p.undo != nil:
		// Versions alone cannot tell a server that has caught up with us from one
		// that never went back: it must be noticed before.
		held := p.inf.Version().number
		p.undo()
		p.undo = nil
		for p.model.version+1 < held && p.rnd.IntN(3) > 0 {
			p.model.put(fmt.Sprint("t", p.rnd.IntN(12)), "green") // a version that was given before
		}
		p.model.setDown(false)
		p.compare()
	case n < 96:
		p.model.setDown(false)
		p.compare()
	default:
		synctest.Wait()
	}
}

// compare waits until nothing more can happen, and compares.
func (p *player) compare() {
	p.t.Helper()
	p.model.bookmark() // a server of old history shows it with the next bookmark
	<-time.After(5 * time.Minute)
	synctest.Wait()
	want := p.model.colors()
	got := map[string]string{}
	for r := range p.inf.All() {
		got[r.Key()] = r.Labels().Get("color")
	}
	if !maps.Equal(got, want) {
		p.t.Errorf("store has %v, server has %v; %+v", got, want, p.inf.Status())
	}
	for _, color := range []string{"red", "green", "blue"} {
		for r := range p.inf.ByIndex("color", color) {
			if want[r.Key()] != color {
				p.t.Errorf("index has %s under %s, server has it %s", r.Key(), color, want[r.Key()])
			}
			delete(got, r.Key())
		}
	}
	if len(got) > 0 {
		p.t.Errorf("not in the index: %v", got)
	}
	for _, s := range p.subs {
		if seen := s.colors(); !maps.Equal(seen, want) {
			p.t.Errorf("subscriber %s has seen %v, server has %v", s.sub.options.Name, seen, want)
		}
		if _, open := <-s.sub.Synced(); open {
			p.t.Error("not synced")
		}
	}
	if p.t.Failed() {
		p.t.FailNow()
	}
}

// replay is a subscriber that keeps what it was told, and objects to what it must
// not be told.
type replay struct {
	t       *testing.T
	sub     *Subscription
	seen    map[string]*Record
	busy    bool
	stopped bool
}

func newReplay(t *testing.T, inf *Informer, rnd *rand.Rand) *replay {
	p := &replay{t: t, seen: map[string]*Record{}}
	slow := time.Duration(rnd.IntN(3)) * 100 * time.Millisecond
	o := SubscribeOptions{Limit: 1 + rnd.IntN(20), Merge: Merge(rnd.IntN(2))}
	p.sub = inf.Subscribe(func(ctx context.Context, d Delta) {
		if p.busy || p.stopped {
			t.Errorf("overlapping or late call for %s", d.Key())
		}
		p.busy = true
		defer func() { p.busy = false }()
		p.take(inf, d)
		if slow > 0 {
			<-time.After(slow)
		}
	}, o)
	return p
}

func (p *replay) take(inf *Informer, d Delta) {
	before := p.seen[d.Key()]
	switch {
	case d.Kind == Added && before != nil:
		p.t.Errorf("%s added twice", d.Key())
	case d.Kind != Added && before == nil:
		p.t.Errorf("%s %s before it was added", d.Key(), d.Kind)
	case d.Kind != Added && !bytes.Equal(d.Old.AppendBytes(nil), before.AppendBytes(nil)):
		p.t.Errorf("%s %s from a state that was not delivered", d.Key(), d.Kind)
	case d.Kind == Updated && d.New.uid != before.uid:
		p.t.Errorf("%s became another object by an update", d.Key())
	}
	if d.Kind == Deleted {
		delete(p.seen, d.Key())
		return
	}
	p.seen[d.Key()] = d.New
	epochs := inf.Status()[0].Epochs
	if held := inf.Get(d.Key()); held != nil && held.older(d.New) && epochs == 0 {
		p.t.Errorf("heard of %s at %s while the store has %s", d.Key(), d.New.Version(), held.Version())
	}
}

func (p *replay) colors() map[string]string {
	colors := map[string]string{}
	for k, r := range p.seen {
		colors[k] = r.Labels().Get("color")
	}
	return colors
}
