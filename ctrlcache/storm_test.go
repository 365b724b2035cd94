package ctrlcache_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/apisim"
)

// TestStorm: readers of all forms join and leave in any order, while objects are made,
// changed, deleted and made again, and the server restarts and forgets its history. No
// handler gets an event twice, out of order or of what it was not told before, no
// reader sees an older state than before, and all end with what the server has.
func TestStorm(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inBubble(t, func(e *env) { newStorm(e, seed).blow() })
		})
	}
}

type storm struct {
	*env
	rand  *rand.Rand
	cache cache.Cache
	// views are the forms that have an informer, each with what its handler was told.
	views map[int]*told
	// read is the newest version that each form was read with, by uid.
	read map[int]map[string]int
}

func newStorm(e *env, seed uint64) *storm {
	if seed%2 == 1 {
		e.requests.follower.Store(e.server.Follow())
	}
	s := &storm{env: e, rand: rand.New(rand.NewPCG(seed, 0)), cache: e.cache(cache.Options{})}
	s.views, s.read = map[int]*told{}, map[int]map[string]int{0: {}, 1: {}, 2: {}}
	e.start(s.cache)
	return s
}

func (s *storm) blow() {
	for range 60 {
		switch s.rand.IntN(15) {
		case 0, 1:
			s.join(s.rand.IntN(3))
		case 2:
			s.leave(s.rand.IntN(3))
		case 3:
			s.server.Restart()
			utilnet.CloseIdleConnectionsFor(s.http.Transport)
		case 4:
			s.server.ForgetHistory()
		case 5:
			time.Sleep(time.Duration(s.rand.IntN(5000)) * time.Millisecond)
		case 6:
			synctest.Wait()
		case 7, 8:
			s.server.Inject(s.fault())
		case 9:
			s.lag(s.rand.IntN(2) == 0)
		default:
			s.write()
		}
		s.look()
	}
	s.lag(false)
	s.create(configMap("default", "last", "blue"))
	for form := range 3 {
		s.join(form)
	}
	for _, v := range s.views {
		v.settle(s)
	}
}

// lag has the second server, if there is one, lag behind the first, or not any more.
func (s *storm) lag(lags bool) {
	switch f := s.requests.follower.Load(); {
	case f == nil:
	case lags:
		f.Hold()
	default:
		f.Release()
	}
}

// fault is something that goes wrong once or twice.
func (s *storm) fault() apisim.Fault {
	faults := []apisim.Fault{
		{Match: apisim.Match{Verb: "list"}, CutAfterBytes: 200},
		{Match: apisim.Match{Verb: "list"}, Status: http.StatusInternalServerError},
		{Match: apisim.Match{Verb: "list"}, Status: http.StatusGone},
		{Match: apisim.Match{Verb: "list"}, Status: http.StatusForbidden},
		{Match: apisim.Match{Verb: "watch"}, TruncateFrame: 1},
		{Match: apisim.Match{Verb: "watch"}, GarbleFrame: 2},
		{Match: apisim.Match{Verb: "watch"}, DuplicateEvents: true},
		{Match: apisim.Match{Verb: "watch"}, Status: http.StatusForbidden},
		{Match: apisim.Match{Verb: "watch"}, Status: http.StatusMethodNotAllowed},
		{Match: apisim.Match{Verb: "watch"}, Delay: time.Second},
	}
	f := faults[s.rand.IntN(len(faults))]
	f.Match.Resource, f.Times = "configmaps", 1+s.rand.IntN(2)
	return f
}

// write makes, changes or deletes an object.
func (s *storm) write() {
	name, n := fmt.Sprint("o", s.rand.IntN(6)), fmt.Sprint(s.rand.Int())
	var err error
	switch s.rand.IntN(4) {
	case 0:
		err = s.direct.Delete(s.ctx, configMap("default", name, n))
	case 1:
		_ = s.direct.Delete(s.ctx, configMap("default", name, n))
		fallthrough
	case 2:
		err = s.direct.Create(s.ctx, configMap("default", name, n))
	default:
		err = s.direct.Update(s.ctx, configMap("default", name, n))
	}
	_ = err // it may be there, or not
}

// join has an informer of a form made, with a handler.
func (s *storm) join(form int) {
	if s.views[form] != nil {
		return
	}
	obj := forms()[form]
	i, err := s.cache.GetInformer(s.ctx, obj, cache.BlockUntilSynced(s.rand.IntN(2) == 0))
	if err != nil {
		s.t.Fatal(err)
	}
	v := &told{t: s.t.Errorf, form: fmt.Sprintf("%T", obj), has: map[string]state{}, changed: make(chan struct{}, 1)}
	if _, err := i.AddEventHandler(v); err != nil {
		s.t.Fatal(err)
	}
	s.views[form] = v
}

func (s *storm) leave(form int) {
	if s.views[form] == nil {
		return
	}
	if err := s.cache.RemoveInformer(s.ctx, forms()[form]); err != nil {
		s.t.Error(err)
	}
	s.views[form].end()
	delete(s.views, form)
	s.read[form] = map[string]int{} // another informer may begin with what a server has cached
}

// look reads one object in each form that has an informer.
func (s *storm) look() {
	for form := range s.views {
		obj := forms()[form]
		key := client.ObjectKey{Namespace: "default", Name: fmt.Sprint("o", s.rand.IntN(6))}
		err := s.cache.Get(s.ctx, key, obj)
		if client.IgnoreNotFound(err) != nil {
			s.t.Errorf("get %T: %v", obj, err)
		}
		if err != nil {
			continue
		}
		uid, v := string(obj.GetUID()), version(obj)
		if v < s.read[form][uid] {
			s.t.Errorf("%T %s went back from %d to %d", obj, obj.GetName(), s.read[form][uid], v)
		}
		s.read[form][uid] = v
	}
}

type state struct {
	uid     string
	version int
}

// told is a handler that keeps what it was told.
type told struct {
	t    func(format string, args ...any)
	form string

	mu      sync.Mutex
	has     map[string]state
	ended   bool
	changed chan struct{}
}

func (v *told) tell(what string, obj client.Object, check func(held, now state, known bool) bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := state{string(obj.GetUID()), version(obj)}
	held, known := v.has[obj.GetName()]
	if !v.ended && !check(held, now, known) {
		v.t("%s: %s of %s at %v, after %v", v.form, what, obj.GetName(), now, held)
	}
	if what == "delete" {
		delete(v.has, obj.GetName())
	} else {
		v.has[obj.GetName()] = now
	}
	select {
	case v.changed <- struct{}{}:
	default:
	}
}

func (v *told) OnAdd(obj any, _ bool) {
	v.tell("add", obj.(client.Object), func(_, _ state, known bool) bool { return !known })
}

func (v *told) OnUpdate(old, obj any) {
	before := version(old.(client.Object))
	v.tell("update", obj.(client.Object), func(held, now state, known bool) bool {
		return known && held.uid == now.uid && held.version < now.version && held.version == before
	})
}

func (v *told) OnDelete(obj any) {
	if d, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = d.Obj
	}
	v.tell("delete", obj.(client.Object), func(held, now state, known bool) bool {
		return known && held.uid == now.uid && held.version <= now.version
	})
}

func (v *told) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
}

// settle waits until the handler was told what the server has.
func (v *told) settle(s *storm) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(configMaps)
	for s.direct.List(s.ctx, list) != nil {
	} // a fault may be left
	want := map[string]state{}
	for _, item := range list.Items {
		want[item.Name] = state{string(item.UID), version(&item)}
	}
	for {
		v.mu.Lock()
		has := maps.Clone(v.has)
		v.mu.Unlock()
		if maps.Equal(has, want) {
			return
		}
		select {
		case <-v.changed:
		case <-s.ctx.Done():
			s.t.Fatalf("%s: the handler has %v, the server %v", v.form, has, want)
		}
	}
}

var _ toolscache.ResourceEventHandler = (*told)(nil)
