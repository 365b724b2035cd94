package cache_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// server is an API server for pods, in memory, that fails when it is told to. It
// is a ListerWatcher.
type server struct {
	// Set before use.
	noWatchList bool // its client says that it cannot send initial events
	noCache     bool // lists are answered in pages even at version 0
	identifies  bool // it sends pods with a uid
	log         *trace

	mu      sync.Mutex
	version int
	oldest  int // changes up to this version are forgotten
	pods    map[string]*corev1.Pod
	history []watch.Event
	watches map[*serverWatch]bool
	// The next answers.
	listErrors, watchErrors []error
}

func newServer(log *trace) *server {
	return &server{log: log, pods: map[string]*corev1.Pod{}, watches: map[*serverWatch]bool{}}
}

// trace notes what happened when.
type trace struct {
	mu    sync.Mutex
	start time.Time
	lines []string
}

func newTrace() *trace { return &trace{start: time.Now()} }

func (t *trace) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, fmt.Sprintf("%v ", time.Since(t.start))+fmt.Sprintf(format, args...))
}

// take returns what was noted since it was last called, without the times.
func (t *trace) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for _, line := range t.lines {
		_, line, _ = strings.Cut(line, " ")
		lines = append(lines, line)
	}
	t.lines = nil
	return lines
}

func (s *server) IsWatchListSemanticsUnSupported() bool { return s.noWatchList }

func (s *server) List(o metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), o)
}

func (s *server) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), o)
}

func (s *server) ListWithContext(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.note("list version=%q limit=%d continue=%q match=%q", o.ResourceVersion, o.Limit, o.Continue, o.ResourceVersionMatch)
	if len(s.listErrors) > 0 {
		err := s.listErrors[0]
		s.listErrors = s.listErrors[1:]
		return nil, err
	}
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}}
	names := slices.Sorted(maps.Keys(s.pods))
	from, _ := strconv.Atoi(o.Continue)
	names = names[min(from, len(names)):]
	// A cache answers whole; what is not in the cache, or need not be, in pages.
	if o.Limit > 0 && (o.ResourceVersion != "0" || s.noCache) && int64(len(names)) > o.Limit {
		names = names[:o.Limit]
		list.Continue = strconv.Itoa(from + len(names))
	}
	for _, name := range names {
		list.Items = append(list.Items, *s.sent(s.pods[name]).(*corev1.Pod))
	}
	return list, nil
}

func (s *server) WatchWithContext(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	s.log.note("watch version=%q initial=%t match=%q bookmarks=%t", o.ResourceVersion, initial, o.ResourceVersionMatch, o.AllowWatchBookmarks)
	if t := o.TimeoutSeconds; t == nil || *t < 300 || *t > 600 {
		s.log.note("watch with a timeout out of bounds: %v", t)
	}
	if len(s.watchErrors) > 0 {
		err := s.watchErrors[0]
		s.watchErrors = s.watchErrors[1:]
		return nil, err
	}
	w := &serverWatch{server: s, events: make(chan watch.Event, 4096)}
	from, _ := strconv.Atoi(o.ResourceVersion)
	switch {
	case initial || from == 0:
		for _, name := range slices.Sorted(maps.Keys(s.pods)) {
			w.events <- watch.Event{Type: watch.Added, Object: s.sent(s.pods[name])}
		}
		if initial {
			w.events <- s.bookmarkLocked(metav1.InitialEventsAnnotationKey, "true")
		}
	case from < s.oldest:
		return nil, expired()
	default:
		for _, event := range s.history {
			if versionOf(event) > from {
				w.events <- watch.Event{Type: event.Type, Object: s.sent(event.Object)}
			}
		}
	}
	s.watches[w] = true
	return w, nil
}

// given is the uid of each object that had none, the same for all: what happens is
// then what happens to objects that have none.
const given types.UID = "given"

// sent is a copy of an object as it is sent.
func (s *server) sent(obj runtime.Object) runtime.Object {
	obj = obj.DeepCopyObject()
	if p, ok := obj.(*corev1.Pod); ok && s.identifies && p.UID == "" {
		p.UID = given
	}
	return obj
}

func versionOf(event watch.Event) int {
	version, _ := strconv.Atoi(event.Object.(*corev1.Pod).ResourceVersion)
	return version
}

func expired() error { return apierrors.NewResourceExpired("too old resource version") }

type serverWatch struct {
	server *server
	events chan watch.Event
}

func (w *serverWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *serverWatch) Stop() {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	delete(w.server.watches, w)
}

// do changes the server in one go, as seen from outside.
func (s *server) do(changes ...func(*server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, change := range changes {
		change(s)
	}
}

func put(name string, labels ...string) func(*server) {
	return func(s *server) {
		t := watch.Added
		if s.pods[name] != nil {
			t = watch.Modified
		}
		s.version++
		s.pods[name] = pod(name, s.version, labels...)
		s.happenedLocked(t, s.pods[name])
	}
}

func remove(name string) func(*server) {
	return func(s *server) {
		if p := s.pods[name]; p != nil {
			s.version++
			delete(s.pods, name)
			p = p.DeepCopy()
			p.ResourceVersion = strconv.Itoa(s.version)
			s.happenedLocked(watch.Deleted, p)
		}
	}
}

func (s *server) happenedLocked(t watch.EventType, p *corev1.Pod) {
	s.history = append(s.history, watch.Event{Type: t, Object: p})
	s.sendLocked(watch.Event{Type: t, Object: p})
}

func (s *server) sendLocked(event watch.Event) {
	for w := range s.watches {
		w.events <- watch.Event{Type: event.Type, Object: s.sent(event.Object)}
	}
}

// bookmark tells the watches the version.
func bookmark(s *server) { s.version++; s.sendLocked(s.bookmarkLocked()) }

func (s *server) bookmarkLocked(annotations ...string) watch.Event {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(s.version)}}
	for pair := range slices.Chunk(annotations, 2) {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, pair[0], pair[1])
	}
	return watch.Event{Type: watch.Bookmark, Object: p}
}

// send makes a watch event of any object.
func send(t watch.EventType, obj runtime.Object) func(*server) {
	return func(s *server) { s.sendLocked(watch.Event{Type: t, Object: obj}) }
}

// breakWith ends the watches with an error.
func breakWith(err error) func(*server) {
	status := err.(apierrors.APIStatus).Status()
	return send(watch.Error, &status)
}

// disconnect ends the watches.
func disconnect(s *server) {
	for w := range s.watches {
		close(w.events)
	}
	clear(s.watches)
}

// forget makes the server refuse to watch from before now.
func forget(s *server) { s.version++; s.oldest = s.version }

func failLists(errs ...error) func(*server) {
	return func(s *server) { s.listErrors = append(s.listErrors, errs...) }
}

func failWatches(errs ...error) func(*server) {
	return func(s *server) { s.watchErrors = append(s.watchErrors, errs...) }
}

// heal makes the server answer again.
func heal(s *server) { s.listErrors, s.watchErrors = nil, nil }

func (s *server) openWatches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches)
}
