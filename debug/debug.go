package debug

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kinform/kinform/internal/inside"
)

// Options of a Handler. The zero value works.
type Options struct {
	// Token is what a request has to show. Default: none, and only requests from this
	// machine are answered. Set it where the page is to be reached from elsewhere. Make
	// it long and random: whoever has it sees every object.
	Token string
	// Title is what the page is called. Default: "kinform". Set it where one looks at
	// several programs.
	Title string
	// Idle is how long the page goes on counting after the last look. Default: a minute.
	// A longer one keeps the chart of who looks now and then.
	Idle time.Duration
}

// Handler is the page. Its methods may be called by many goroutines.
type Handler struct {
	options Options
	routes  map[string]view
	work    chan struct{} // a place for each view that is being made
	streams chan struct{} // a place for each stream that is open

	mu      sync.Mutex
	sources []source
	looking *looking // nil while nobody looks
	closed  bool
	open    int           // how many streams are
	ended   chan struct{} // closed when the page is closed and no stream is open
	running sync.WaitGroup
}

// source is what was added.
type source struct {
	name string
	one  inside.One
	many inside.Many
}

// New returns a page that shows nothing yet.
func New(o Options) *Handler {
	if o.Title == "" {
		o.Title = "kinform"
	}
	if o.Idle <= 0 {
		o.Idle = time.Minute
	}
	h := &Handler{
		options: o, work: make(chan struct{}, mostViews), streams: make(chan struct{}, mostStreams), ended: make(chan struct{}),
	}
	h.routes = h.views()
	return h
}

// Add shows an informer under a name: a *kinform.Informer, or one of the drop-ins'. A
// *kinform.Factory, a drop-in factory, or a cache of package ctrlcache, as that of a
// manager, shows all that it has and will have, each under the name of its resource.
//
// The error says that it cannot be shown, or that there is one of that name.
func (h *Handler) Add(name string, informer any) error {
	s := source{name: name}
	switch i := informer.(type) {
	case inside.One:
		s.one = i
	case inside.Many:
		s.many = i
	default:
		return fmt.Errorf("debug: %s: a %T cannot be looked into: it is no informer, factory or cache of kinform's", name, informer)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.sources, func(o source) bool { return o.name == name }) {
		return fmt.Errorf("debug: there is a %q already", name)
	}
	h.sources = append(h.sources, s)
	return nil
}

// Close ends what the page began: streams end, whether somebody reads them or not, and
// nothing is counted any more. It waits until that is done, but no longer than 10 s for
// streams whose connection cannot be told to give up. Requests that come later are refused.
func (h *Handler) Close() {
	h.mu.Lock()
	if !h.closed && h.open == 0 {
		close(h.ended)
	}
	h.closed = true
	if h.looking != nil {
		h.looking.end()
	}
	h.mu.Unlock()
	h.running.Wait()
	patience := time.NewTimer(readerPauses)
	defer patience.Stop()
	select {
	case <-h.ended:
	case <-patience.C:
	}
}

// named is an informer with the name that it is shown under.
type named struct {
	inside.Informer
	name string
}

// informers returns what there is to show, in the order in which it was added.
func (h *Handler) informers() []named {
	h.mu.Lock()
	sources := slices.Clone(h.sources)
	h.mu.Unlock()
	var all []named
	taken := map[string]bool{}
	add := func(name string, i inside.Informer) {
		for n, base := 2, name; taken[name]; n++ {
			name = base + " (" + strconv.Itoa(n) + ")"
		}
		taken[name] = true
		all = append(all, named{i, name})
	}
	for _, s := range sources {
		if s.one != nil {
			add(s.name, s.one.Inside())
			continue
		}
		for _, i := range s.many.Inside() {
			d := i.Describe()
			resource, _, _ := strings.Cut(d.Source.Resource, ".")
			if resource == "" {
				resource = d.Source.Name
			}
			add(strings.TrimPrefix(s.name+"/"+resource, "/"), i)
		}
	}
	return all
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if p := h.serve(w, r); p != nil {
		p.answer(w, r, h.options.Title)
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) *refusal {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		return refuse(http.StatusMethodNotAllowed, "This page is for looking only: use GET.")
	case len(r.RequestURI) > longestURL || len(r.URL.RawQuery) > longestURL:
		return refuse(http.StatusRequestURITooLong, "The address is longer than "+strconv.Itoa(longestURL)+" characters.")
	}
	path := strings.TrimPrefix(r.URL.Path, "/")
	if path == "" && bare(r) {
		// Links are relative to the folder, which this is not seen to be.
		w.Header().Set("Location", "./"+lastPart(r)+"/?"+r.URL.RawQuery)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return nil
	}
	if p := h.admit(w, r); p != nil {
		return p
	}
	serve, ok := h.routes[path]
	if !ok {
		return refuse(http.StatusNotFound, "There is no such page here.")
	}
	return serve(w, r)
}

// view answers a request, or says why not.
type view func(w http.ResponseWriter, r *http.Request) *refusal
