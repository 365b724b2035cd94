package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
)

// recorder is a store that notes the calls of a reflector. It has all the optional
// interfaces.
type recorder struct {
	log       *trace
	transform cache.TransformFunc

	mu      sync.Mutex
	refused map[string]bool // calls, by their lines in the log
}

// refuse makes calls fail.
func (r *recorder) refuse(calls ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = map[string]bool{}
	for _, call := range calls {
		r.refused[call] = true
	}
}

func (r *recorder) call(what string, obj any) error {
	r.log.note("%s %s", what, show(obj))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused[what+" "+show(obj)] {
		return errors.New("the store refuses")
	}
	return nil
}

func (r *recorder) Add(obj any) error             { return r.call("Add", obj) }
func (r *recorder) Update(obj any) error          { return r.call("Update", obj) }
func (r *recorder) Delete(obj any) error          { return r.call("Delete", obj) }
func (r *recorder) Resync() error                 { return r.call("Resync", "") }
func (r *recorder) Bookmark(version string) error { return r.call("Bookmark", version) }
func (r *recorder) UpdateResourceVersion(version string) {
	_ = r.call("UpdateResourceVersion", version)
}
func (r *recorder) Transformer() cache.TransformFunc { return r.transform }
func (r *recorder) Replace(list []any, version string) error {
	return r.call("Replace", fmt.Sprint(sorted(list), " at ", version))
}

// reflector is what client-go's and kinform's have in common.
type reflector interface {
	RunWithContext(context.Context)
	LastSyncResourceVersion() string
}

// reflection is one run of a reflector.
type reflection struct {
	server   func(*server)   // prepares the server
	store    func(*recorder) // prepares the store
	options  cache.ReflectorOptions
	internal time.Duration
	pageSize int64
	resync   func() bool
	script   []serverStep
}

// serverStep happens at once, and then some time passes.
type serverStep struct {
	does    string
	changes []func(*server)
	passes  time.Duration
}

// steadyBackoff has no chance in it, so that two runs keep the same time.
var steadyBackoff = &wait.Backoff{Duration: time.Second, Factor: 2, Cap: 16 * time.Second, Steps: 20}

func (n reflection) theirs(lw cache.ListerWatcher, store cache.ReflectorStore) reflector {
	n.options.Backoff = steadyBackoff
	r := clientgo.NewReflectorWithOptions(lw, &corev1.Pod{}, store, n.options)
	r.MaxInternalErrorRetryDuration, r.WatchListPageSize, r.ShouldResync = n.internal, n.pageSize, n.resync
	return r
}

func (n reflection) ours(lw cache.ListerWatcher, store cache.ReflectorStore) reflector {
	n.options.Backoff = steadyBackoff
	r := cache.NewReflectorWithOptions(lw, &corev1.Pod{}, store, n.options)
	r.MaxInternalErrorRetryDuration, r.WatchListPageSize, r.ShouldResync = n.internal, n.pageSize, n.resync
	return r
}

// run plays the script to a reflector and gives everything that happened.
func (n reflection) run(t *testing.T, make func(cache.ListerWatcher, cache.ReflectorStore) reflector) (lines []string) {
	synctest.Test(t, func(t *testing.T) {
		log := newTrace()
		s := newServer(log)
		store := &recorder{log: log}
		if n.server != nil {
			n.server(s)
		}
		if n.store != nil {
			n.store(store)
		}
		r := make(s, store)
		ctx, cancel := context.WithCancel(t.Context())
		ended := false
		go func() {
			r.RunWithContext(ctx)
			ended = true
		}()
		for _, step := range n.script {
			synctest.Wait()
			log.note("----- %s (version=%s, %d watches)", step.does, r.LastSyncResourceVersion(), s.openWatches())
			s.do(step.changes...)
			synctest.Wait()
			time.Sleep(step.passes)
		}
		// client-go's does not stop while it waits to try again.
		s.do(heal)
		time.Sleep(time.Minute)
		synctest.Wait()
		cancel()
		synctest.Wait()
		log.note("ended=%t, %d watches, version=%s", ended, s.openWatches(), r.LastSyncResourceVersion())
		lines = log.lines
	})
	return lines
}

func (n reflection) compare(t *testing.T) {
	t.Helper()
	theirs, ours := n.run(t, n.theirs), n.run(t, n.ours)
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("client-go's (-) and kinform's (+) differ:\n%s", diff)
	}
	if len(ours) == 0 || !strings.HasSuffix(ours[len(ours)-1], "ended=true, 0 watches, version="+lastVersion(ours)) {
		t.Errorf("it did not end: %v", ours[len(ours)-1])
	}
}

func lastVersion(lines []string) string {
	_, version, _ := strings.Cut(lines[len(lines)-1], "version=")
	return version
}

func randomScript(random *rand.Rand, length int) []serverStep {
	name := func() string { return string(rune('a' + random.IntN(5))) }
	change := func() func(*server) {
		if random.IntN(3) == 0 {
			return remove(name())
		}
		return put(name())
	}
	internal := apierrors.NewInternalError(errors.New("etcd has no leader"))
	busy := apierrors.NewTooManyRequests("busy", 1)
	tooLarge := apierrors.NewTimeoutError("Too large resource version", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	refused := fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	other := errors.New("no route")
	kinds := []struct {
		does  string
		makes func() []func(*server)
	}{
		{"change", func() []func(*server) { return []func(*server){change()} }},
		{"change", func() []func(*server) { return []func(*server){change(), change(), change()} }},
		{"bookmark", func() []func(*server) { return []func(*server){bookmark} }},
		{"disconnect", func() []func(*server) { return []func(*server){disconnect} }},
		{"change while disconnected", func() []func(*server) { return []func(*server){disconnect, change(), change()} }},
		{"forget", func() []func(*server) { return []func(*server){disconnect, change(), forget, change()} }},
		{"break: expired", func() []func(*server) {
			return []func(*server){breakWith(apierrors.NewResourceExpired("gone")), change()}
		}},
		{"break: internal", func() []func(*server) { return []func(*server){breakWith(internal), change()} }},
		{"break: busy", func() []func(*server) { return []func(*server){breakWith(busy), change()} }},
		{"break: bad", func() []func(*server) { return []func(*server){breakWith(apierrors.NewBadRequest("bad")), change()} }},
		{"refuse watches", func() []func(*server) {
			return []func(*server){failWatches(refused, refused, busy), disconnect, change()}
		}},
		{"fail the watch", func() []func(*server) { return []func(*server){failWatches(other), disconnect, change()} }},
		{"fail the watch and the list", func() []func(*server) {
			return []func(*server){failWatches(other, other), failLists(other), disconnect, change()}
		}},
		{"fail the list: expired", func() []func(*server) {
			return []func(*server){failWatches(expired(), other), failLists(expired()), disconnect, change()}
		}},
		{"fail the list: too large", func() []func(*server) {
			return []func(*server){failWatches(tooLarge, tooLarge), failLists(tooLarge), disconnect, change()}
		}},
		{"foreign events", func() []func(*server) {
			return []func(*server){send(watch.Added, &corev1.Node{}), send("STRANGE", pod("z", 1)), change()}
		}},
	}
	script := make([]serverStep, length)
	for i := range script {
		kind := kinds[random.IntN(len(kinds))]
		script[i] = serverStep{
			does:    kind.does,
			changes: kind.makes(),
			passes:  time.Duration(random.IntN(25_000))*time.Millisecond + 37*time.Microsecond,
		}
	}
	return script
}

func TestReflectorBehavesAsClientGos(t *testing.T) {
	for _, watchList := range []bool{true, false} {
		t.Run(fmt.Sprintf("watchList=%t", watchList), func(t *testing.T) {
			forSeeds(t, 40, func(t *testing.T, random *rand.Rand) {
				n := reflection{
					server: func(s *server) {
						s.noWatchList = !watchList
						for _, name := range []string{"a", "b", "c"} {
							s.do(put(name))
						}
					},
					store:  func(r *recorder) { r.refuse("Add a@7", "Update b@8", "Delete c@9") },
					script: randomScript(random, 25),
				}
				if random.IntN(2) == 0 {
					n.options.ResyncPeriod = 6913 * time.Millisecond // coincides with nothing
				}
				if random.IntN(2) == 0 {
					n.internal = 5 * time.Second
				}
				if random.IntN(2) == 0 {
					n.pageSize = 2
				}
				n.compare(t)
			})
		})
	}
}
