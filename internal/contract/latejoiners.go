package contract

import (
	"fmt"
	"math/rand/v2"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
)

// Point 3: late joiners get one Added for each object that is there, then
// everything after: nothing twice, nothing missed.
var lateJoiners = []story{
	{"one Added for each object that is there", joinAtRest},
	{"nothing twice and nothing missed, whenever they join", joinAnytime},
}

func joinAtRest(e *env) {
	e.seed("1", names("o", 20)...)
	inf := e.informer(e.config(), kinform.Options{})
	first := e.subscribe(inf, "first", subscribed{})
	e.sync(inf)
	first.receives(e.update("o-003", "2"))
	e.delete("o-004")
	first.receives(e.create("later", "1"))

	late := e.subscribe(inf, "late", subscribed{})
	e.must(late.sub.WaitSynced(e.ctx), "waiting for the late one")
	present := late.since(0)
	late.wantServer(e.onServer())
	if len(present) != 20 {
		e.Errorf("the late one got %d things for 20 objects: %v", len(present), present)
	}
	for _, t := range present {
		if t.kind != kinform.EventAdded || !t.initial {
			e.Errorf("the late one got %v, want an initial Added", t)
		}
	}

	late.receives(e.create("after", "1"))
	if after := late.since(20); len(after) != 1 || after[0].initial {
		e.Errorf("the late one got %v of one object that came later", after)
	}
}

// joinAnytime uses a label selector over all namespaces; objects come and go
// also by losing and getting back the label.
func joinAnytime(e *env) {
	objects := names("o", 12)
	e.seed("0", objects[:6]...) // without the label
	chosen := metav1.ListOptions{LabelSelector: "story=" + e.ns}
	listed, version := e.list(chosen)
	inf := e.informer(e.config(), kinform.Options{LabelSelector: chosen.LabelSelector})
	before := e.subscribe(inf, "before Run", subscribed{})
	e.run(inf)

	const writers, steps = 6, 40
	j := &joiners{e: e, inf: inf, joinAt: map[uint64]int{}, leaveAt: map[uint64]int{}}
	for i := range 12 {
		j.joinAt[1+rand.Uint64N(writers*steps)]++
		if i%3 == 0 {
			j.leaveAt[1+rand.Uint64N(writers*steps)]++
		}
	}
	c := &churn{e: e, names: objects, writers: writers, steps: steps, after: j.step, labels: func(o object) {
		if rand.IntN(6) > 0 {
			o.Labels = map[string]string{"story": e.ns}
		}
	}}
	c.run()
	last := configMap("the-end", "")
	last.Labels = map[string]string{"story": e.ns}
	end, err := e.maps().Create(e.ctx, last, metav1.CreateOptions{})
	e.must(err, "creating the end")
	after := e.subscribe(inf, "after all", subscribed{})

	h := e.history(chosen, listed, version, end)
	server, _ := e.list(chosen)
	for _, w := range append(j.staying, before, after) {
		w.receives(end)
		e.must(w.sub.WaitSynced(e.ctx), "waiting for "+w.name)
		h.wantEnd(w)
		w.wantServer(server)
	}
	e.wantStore(inf, server)
}

// joiners join and leave when writers have come so far.
type joiners struct {
	e               *env
	inf             *informer
	joinAt, leaveAt map[uint64]int

	mu      sync.Mutex
	joined  int
	staying []*witness
}

func (j *joiners) step(total uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for range j.joinAt[total] {
		j.joined++
		j.staying = append(j.staying, j.e.subscribe(j.inf, fmt.Sprintf("joiner %d, after %d steps", j.joined, total), subscribed{}))
	}
	for range j.leaveAt[total] {
		if len(j.staying) > 0 {
			j.staying[0].stop()
			j.staying = j.staying[1:]
		}
	}
}
