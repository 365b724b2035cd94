package cache_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
)

// queuePlayer is a queue, the store that its consumer fills, and what happened.
type queuePlayer struct {
	queue cache.Queue
	store known
	trace []string
}

func (p *queuePlayer) note(format string, args ...any) {
	p.trace = append(p.trace, fmt.Sprintf(format, args...))
}

// step does one thing to the queue.
type step func(p *queuePlayer)

// randomSteps makes a script that two queues can be played.
func randomSteps(random *rand.Rand, length int) []step {
	version := 0
	anyPod := func() any {
		version++
		if random.IntN(12) == 0 {
			return "no pod at all"
		}
		return pod(string(rune('a'+random.IntN(6))), version)
	}
	steps := make([]step, length)
	for i := range steps {
		obj := anyPod()
		switch n := random.IntN(20); {
		case n < 4:
			steps[i] = func(p *queuePlayer) { p.note("add %s: %v", show(obj), p.queue.Add(obj)) }
		case n < 8:
			steps[i] = func(p *queuePlayer) { p.note("update %s: %v", show(obj), p.queue.Update(obj)) }
		case n < 11:
			steps[i] = func(p *queuePlayer) { p.note("delete %s: %v", show(obj), p.queue.Delete(obj)) }
		case n == 11:
			names := []string{"a", "b", "c", "ghost", "broken"}
			tombstone := cache.DeletedFinalStateUnknown{Key: "ns/" + names[random.IntN(len(names))], Obj: obj}
			steps[i] = func(p *queuePlayer) { p.note("delete %s: %v", show(tombstone), p.queue.Delete(tombstone)) }
		case n < 14:
			list := make([]any, random.IntN(6))
			for i := range list {
				list[i] = anyPod()
			}
			steps[i] = func(p *queuePlayer) {
				p.note("replace %s: %v", showAll(list), p.queue.Replace(slices.Clone(list), fmt.Sprint(version)))
			}
		case n == 14:
			steps[i] = func(p *queuePlayer) { p.note("resync: %v", p.queue.Resync()) }
		case n == 15:
			steps[i] = func(p *queuePlayer) {
				if q, ok := p.queue.(cache.ReflectorBookmarkStore); ok {
					p.note("bookmark: %v", q.Bookmark("7"))
				}
			}
		default:
			pops, fails := 1+random.IntN(4), random.IntN(6) == 0
			steps[i] = func(p *queuePlayer) {
				for range pops {
					p.pop(fails)
				}
			}
		}
	}
	return steps
}

// pop takes one item, or a batch where the queue can do that.
func (p *queuePlayer) pop(fail bool) {
	process := func(what string) func(deltas []cache.Delta, initial bool) error {
		return func(deltas []cache.Delta, initial bool) error {
			p.note("%s %s initial=%t", what, show(deltas), initial)
			if fail {
				return errors.New("failed")
			}
			return consume(p.store, deltas)
		}
	}
	single := func(obj any, initial bool) error { return process("pop")(obj.(cache.Deltas), initial) }
	if q, ok := p.queue.(cache.QueueWithBatch); ok && len(p.trace)%2 == 0 {
		p.note("popped a batch: %v", q.PopBatch(process("batch"), single))
		return
	}
	got, err := p.queue.Pop(single)
	p.note("popped %s: %v", show(got), err)
}

// play plays a script to a queue, and drains it.
func play(queue cache.Queue, store known, script []step) []string {
	p := &queuePlayer{queue: queue, store: store}
	// A closed queue takes and hands out as an open one does, and does not wait.
	queue.Close()
	for _, s := range script {
		s(p)
		p.note("synced=%t done=%t store=%s", queue.HasSynced(), cache.IsDone(queue.HasSyncedChecker()), showAll(p.store.List()))
	}
	for range 200 {
		p.pop(false)
	}
	return p.trace
}

func TestQueuesBehaveAsClientGos(t *testing.T) {
	type options struct {
		replaced, noKnown, haunted, transforms bool
	}
	configure := func(o options) (cache.DeltaFIFOOptions, known) {
		store := newKnown(pod("a", 0), pod("f", 0))
		opts := cache.DeltaFIFOOptions{EmitDeltaTypeReplaced: o.replaced, KnownObjects: store}
		if o.noKnown {
			opts.KnownObjects = nil
		}
		if o.haunted {
			opts.KnownObjects = haunted{store}
		}
		if o.transforms {
			opts.Transformer = transform
		}
		return opts, store
	}
	for _, o := range []options{{}, {replaced: true}, {replaced: true, noKnown: true}, {replaced: true, haunted: true}, {replaced: true, transforms: true}} {
		t.Run(fmt.Sprintf("DeltaFIFO %+v", o), func(t *testing.T) {
			forSeeds(t, 20, func(t *testing.T, random *rand.Rand) {
				script := randomSteps(random, 60)
				theirOpts, theirStore := configure(o)
				ourOpts, ourStore := configure(o)
				theirs := play(clientgo.NewDeltaFIFOWithOptions(theirOpts), theirStore, script)
				ours := play(cache.NewDeltaFIFOWithOptions(ourOpts), ourStore, script)
				if diff := cmp.Diff(theirs, ours); diff != "" {
					t.Errorf("client-go's (-) and kinform's (+) differ:\n%s", diff)
				}
			})
		})
	}

	realOptions := func(atomic, transforms bool) (cache.RealFIFOOptions, known) {
		store := newKnown(pod("a", 0), pod("f", 0))
		opts := cache.RealFIFOOptions{AtomicEvents: atomic, UnlockWhileProcessing: atomic, EmitDeltaTypeBookmark: atomic}
		if !atomic {
			opts.KnownObjects = haunted{store}
		}
		if transforms {
			opts.Transformer = transform
		}
		return opts, store
	}
	for _, atomic := range []bool{false, true} {
		for _, transforms := range []bool{false, true} {
			t.Run(fmt.Sprintf("RealFIFO atomic=%t transforms=%t", atomic, transforms), func(t *testing.T) {
				forSeeds(t, 20, func(t *testing.T, random *rand.Rand) {
					script := randomSteps(random, 60)
					theirOpts, theirStore := realOptions(atomic, transforms)
					ourOpts, ourStore := realOptions(atomic, transforms)
					theirs := play(clientgo.NewRealFIFOWithOptions(theirOpts), theirStore, script)
					ours := play(cache.NewRealFIFOWithOptions(ourOpts), ourStore, script)
					if diff := cmp.Diff(theirs, ours); diff != "" {
						t.Errorf("client-go's (-) and kinform's (+) differ:\n%s", diff)
					}
				})
			})
		}
	}
}
