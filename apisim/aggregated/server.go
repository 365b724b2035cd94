// Package aggregated is an API server of the kind that people write
// themselves and register with the aggregation layer: it serves one resource,
// in JSON, to those who list and watch, with resource versions of its own
// making, or none.
//
//	projects := aggregated.New(aggregated.Options{Versions: aggregated.Unordered()})
//	server, err := apisim.Start(apisim.Options{Front: projects.Front})
//	projects.Put(&corev1.ConfigMap{…})
//
// All of this is seen in the wild, and none of it is what kube-apiserver does.
// A client that asks for a list and a watch from its version can follow every
// one of them: the list is the newest state, a watch from a version that stands
// for one moment sends what changed after it, one from any other version begins
// with everything that is there.
//
// What may live here: what such a server does on purpose. Failures are those of
// package apisim and of package front.
package aggregated

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Options of a server. The zero value works.
type Options struct {
	// Resource and Kind are what is served. Default: the ConfigMaps of v1, for
	// which every client has a type.
	Resource schema.GroupVersionResource
	Kind     string

	// Versions makes the resource versions. Default: Ordered, as everywhere.
	Versions Versions

	// StoredVersionOnDelete has DELETED carry the version that the object had,
	// instead of a new one.
	StoredVersionOnDelete bool
}

// Server is an http.Handler. Its methods may be called by many goroutines.
type Server struct {
	options Options

	mu      sync.Mutex
	objects map[string]*object
	states  map[string]uint64 // by key: how many states there were
	moments map[string]moment // by version: when that was
	events  []event           // what changed after the first moment that is remembered
	at      uint64            // the present moment
	first   uint64            // the moment before events[0]
	changed chan struct{}     // closed by the next change
	cut     chan struct{}     // closed to end all watches
}

// object is what is there of one object.
type object struct {
	content map[string]any // never changed
	version string
	hidden  bool
}

// moment is what a version stands for.
type moment struct {
	at      uint64
	several bool // other moments have the same version
}

// event is one change as watches send it.
type event struct {
	kind      string
	namespace string
	content   map[string]any
}

// New returns a server without objects.
func New(o Options) *Server {
	if o.Resource.Empty() {
		o.Resource, o.Kind = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap"
	}
	if o.Versions.Object == nil {
		o.Versions = Ordered()
	}
	return &Server{
		options: o, objects: map[string]*object{}, states: map[string]uint64{}, moments: map[string]moment{},
		changed: make(chan struct{}), cut: make(chan struct{}),
	}
}

// Put creates or replaces an object. It gets a uid if it has none, and a
// version.
func (s *Server) Put(obj runtime.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return fmt.Errorf("aggregated: put: %w", err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(s.options.Resource.GroupVersion().WithKind(s.options.Kind))
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(u)
	kind := "MODIFIED"
	held := s.objects[key]
	if held == nil {
		kind = "ADDED"
		u.SetUID(cmp.Or(u.GetUID(), types.UID(uuid.NewString())))
	} else {
		u.SetUID(cmp.Or(u.GetUID(), (&unstructured.Unstructured{Object: held.content}).GetUID()))
	}
	version := s.nextLocked(key)
	u.SetResourceVersion(version)
	if version == "" {
		unstructured.RemoveNestedField(u.Object, "metadata", "resourceVersion")
	}
	s.objects[key] = &object{content: u.Object, version: version, hidden: held != nil && held.hidden}
	if !s.objects[key].hidden {
		s.tellLocked(kind, u.Object)
	}
	return nil
}

// nextLocked goes on by a moment, and returns the version that an object gets
// in it.
func (s *Server) nextLocked(key string) string {
	s.at++
	s.states[key]++
	version := s.options.Versions.Object(State{Key: key, At: s.at, Nth: s.states[key]})
	s.noteLocked(version)
	return version
}

// noteLocked notes that a version was given at the present moment.
func (s *Server) noteLocked(version string) {
	if m, known := s.moments[version]; known && m.at != s.at {
		s.moments[version] = moment{several: true}
	} else if !m.several {
		s.moments[version] = moment{at: s.at}
	}
}

// tellLocked sends an event of the present moment. Several events need several
// moments.
func (s *Server) tellLocked(kind string, content map[string]any) {
	namespace := (&unstructured.Unstructured{Object: content}).GetNamespace()
	for s.first+uint64(len(s.events)) < s.at-1 {
		s.events = append(s.events, event{}) // a moment in which nothing was to be seen
	}
	s.events = append(s.events, event{kind, namespace, content})
	close(s.changed)
	s.changed = make(chan struct{})
}

// Delete removes an object. It does nothing if there is none.
func (s *Server) Delete(namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(&metav1.ObjectMeta{Namespace: namespace, Name: name})
	held := s.objects[key]
	if held == nil {
		return
	}
	delete(s.objects, key)
	if !held.hidden {
		s.tellDeletedLocked(key, held)
	}
	delete(s.states, key) // another object of the name is counted from 1
}

func (s *Server) tellDeletedLocked(key string, held *object) {
	content := held.content
	if s.options.StoredVersionOnDelete || held.version == "" {
		s.at++
	} else {
		last := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
		last.SetResourceVersion(s.nextLocked(key))
		content = last.Object
	}
	s.tellLocked("DELETED", content)
}

// Hide takes the right to see an object away from all clients: watches send
// DELETED, and the object itself, its version included, stays as it is.
func (s *Server) Hide(namespace, name string) { s.show(namespace, name, false) }

// Show gives the right back: watches send ADDED, with the version that the
// object has had all the time.
func (s *Server) Show(namespace, name string) { s.show(namespace, name, true) }

func (s *Server) show(namespace, name string, visible bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(&metav1.ObjectMeta{Namespace: namespace, Name: name})
	held := s.objects[key]
	if held == nil || held.hidden == !visible {
		return
	}
	held.hidden = !visible
	s.at++
	if visible {
		s.tellLocked("ADDED", held.content)
	} else {
		s.tellLocked("DELETED", held.content)
	}
}

// Forget ends all watches, and has those that begin at an earlier moment
// refused with 410.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at++
	s.events, s.first = nil, s.at
	close(s.cut)
	s.cut = make(chan struct{})
}

// List returns what clients can see, sorted by key.
func (s *Server) List() *unstructured.UnstructuredList {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": s.options.Resource.GroupVersion().String(), "kind": s.options.Kind + "List",
	}}
	version := s.options.Versions.List(s.at)
	s.noteLocked(version)
	if version != "" {
		list.SetResourceVersion(version)
	}
	for _, content := range s.visibleLocked("") {
		list.Items = append(list.Items, unstructured.Unstructured{Object: content})
	}
	return list
}

func (s *Server) visibleLocked(namespace string) []map[string]any {
	var out []map[string]any
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		held := s.objects[key]
		if u := (&unstructured.Unstructured{Object: held.content}); !held.hidden && (namespace == "" || u.GetNamespace() == namespace) {
			out = append(out, held.content)
		}
	}
	return out
}

func keyOf(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// Front answers requests for the resource, and leaves all others to another
// server, as the aggregation layer does.
func (s *Server) Front(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ours := s.match(r.URL.Path); ours {
			s.ServeHTTP(w, r)
		} else {
			next.ServeHTTP(w, r)
		}
	})
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // whoever has gone needs no answer
}
