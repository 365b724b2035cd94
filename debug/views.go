package debug

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform/internal/redact"
)

// mostViews is how many views are made at the same time; others wait.
const mostViews = 4

// views returns what is answered, by the path within the page.
func (h *Handler) views() map[string]view {
	return map[string]view{
		"":              h.working(h.overviewPage),
		"overview.json": h.working(h.overviewJSON),
		"informer":      h.working(h.informerPage),
		"informer.json": h.working(h.informerJSON),
		"changes.json":  h.working(h.changesJSON),
		"objects":       h.working(h.objectsPage),
		"objects.json":  h.working(h.objectsJSON),
		"index":         h.working(h.indexPage),
		"index.json":    h.working(h.indexJSON),
		"object":        h.working(h.objectPage),
		"object.json":   h.working(h.objectJSON),
		"object.yaml":   h.working(h.objectYAML),
		"live":          h.live,
		"style.css":     asset("style.css", "text/css; charset=utf-8"),
		"page.js":       asset("page.js", "text/javascript; charset=utf-8"),
		"icon.svg":      asset("icon.svg", "image/svg+xml"),
	}
}

// working makes few views at a time, so that many requests do not take the program's
// processors from it.
func (h *Handler) working(serve view) view {
	return func(w http.ResponseWriter, r *http.Request) *refusal {
		select {
		case h.work <- struct{}{}:
		case <-r.Context().Done():
			return refuse(http.StatusServiceUnavailable, "Too many others were looking.")
		}
		held := &heldAnswer{ResponseWriter: w}
		p := held.made(func() *refusal { return serve(held, r) }, h.work)
		if p == nil {
			held.send()
		}
		return p
	}
}

// heldAnswer is an answer that is sent once it is whole, so that who does not read it keeps
// nobody from looking.
type heldAnswer struct {
	http.ResponseWriter
	code int
	body bytes.Buffer
}

// made makes the answer, and gives its place back.
func (a *heldAnswer) made(serve func() *refusal, place <-chan struct{}) *refusal {
	defer func() { <-place }()
	return serve()
}

// WriteHeader is for views.
func (a *heldAnswer) WriteHeader(code int) { a.code = code }

// Write is for views.
func (a *heldAnswer) Write(p []byte) (int, error) { return a.body.Write(p) }

// send sends it, to who reads within a while.
func (a *heldAnswer) send() {
	control := http.NewResponseController(a.ResponseWriter)
	if control.SetWriteDeadline(time.Now().Add(readerPauses)) == nil {
		defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	}
	if a.code != 0 {
		a.ResponseWriter.WriteHeader(a.code)
	}
	_, _ = a.body.WriteTo(a.ResponseWriter) // who has left need not be told
}

// overview is every informer.
type overview struct {
	Filter    string `json:"q,omitempty"`
	Informers []row  `json:"informers"`
	Objects   int    `json:"objects"`
	Memory    int64  `json:"memory"`
	Failing   int    `json:"failing"`
}

func (h *Handler) overview(r *http.Request) (overview, *refusal) {
	q, p := query(r.URL.Query(), "q")
	if p != nil {
		return overview{}, p
	}
	l, p := h.look()
	if p != nil {
		return overview{}, p
	}
	o := overview{Filter: q, Informers: []row{}}
	for _, row := range l.overview() {
		o.Objects += row.Objects
		o.Memory += row.Memory
		if row.Health == "bad" {
			o.Failing++
		}
		if strings.Contains(strings.ToLower(row.Name+" "+row.Resource+" "+row.State), strings.ToLower(q)) {
			o.Informers = append(o.Informers, row)
		}
	}
	return o, nil
}

func (h *Handler) overviewPage(w http.ResponseWriter, r *http.Request) *refusal {
	o, p := h.overview(r)
	if p != nil {
		return p
	}
	return h.html(w, sheet{Heading: "Informers", View: "overview", JSON: "overview.json", Live: "live", Body: o})
}

func (h *Handler) overviewJSON(w http.ResponseWriter, r *http.Request) *refusal {
	o, p := h.overview(r)
	if p != nil {
		return p
	}
	return asJSON(w, o)
}

// chosen returns the watcher of the informer that a request names.
func (h *Handler) chosen(r *http.Request) (*watcher, *refusal) {
	name, p := query(r.URL.Query(), "i")
	if p != nil {
		return nil, p
	}
	l, p := h.look()
	if p != nil {
		return nil, p
	}
	return l.watcher(name)
}

// objects searches an informer's objects, by key and labels, or within an index.
func (h *Handler) objects(r *http.Request) (listing, *refusal) {
	w, p := h.chosen(r)
	if p != nil {
		return listing{}, p
	}
	values, p := queries(r.URL.Query(), "q", "l", "x", "v", "after")
	if p != nil {
		return listing{}, p
	}
	l := listing{Informer: w.informer.name, Key: values[0], Labels: values[1], Index: values[2], Value: values[3]}
	f, p := filterOf(l.Key, l.Labels)
	if p != nil {
		return listing{}, p
	}
	records := w.engine.All()
	if l.Index != "" {
		if p := w.mayRead(l.Index); p != nil {
			return listing{}, p
		}
		records = w.informer.ByIndex(l.Index, l.Value)
	}
	l.find(records, f, values[4], mostRecords)
	return l, nil
}

// mayRead returns why an index cannot be read. The values of one over Secrets may be
// secret, and must not be found by guessing.
func (w *watcher) mayRead(index string) *refusal {
	switch {
	case !slices.Contains(w.informer.Describe().Store.Indexes, index):
		return refuse(http.StatusNotFound, "The informer has no index of that name.")
	case w.informer.Secret:
		return refuse(http.StatusForbidden, "The values of an index over Secrets are not shown.")
	}
	return nil
}

func (h *Handler) objectsPage(w http.ResponseWriter, r *http.Request) *refusal {
	l, p := h.objects(r)
	if p != nil {
		return p
	}
	return h.html(w, sheet{Heading: "Objects of " + l.Informer, View: "objects", JSON: "objects.json?" + r.URL.RawQuery, Body: l})
}

func (h *Handler) objectsJSON(w http.ResponseWriter, r *http.Request) *refusal {
	l, p := h.objects(r)
	if p != nil {
		return p
	}
	return asJSON(w, l)
}

// indexView is the values of an index.
type indexView struct {
	Informer string       `json:"informer"`
	Index    string       `json:"index"`
	Values   []indexValue `json:"values"`
	Total    int          `json:"total"`
	Next     string       `json:"next,omitempty"`
}

type indexValue struct {
	Value   string `json:"value"`
	Objects int    `json:"objects"`
}

func (h *Handler) index(r *http.Request) (indexView, *refusal) {
	w, p := h.chosen(r)
	if p != nil {
		return indexView{}, p
	}
	asked, p := queries(r.URL.Query(), "x", "after")
	if p != nil {
		return indexView{}, p
	}
	if p := w.mayRead(asked[0]); p != nil {
		return indexView{}, p
	}
	values := w.informer.IndexValues(asked[0])
	slices.Sort(values)
	v := indexView{Informer: w.informer.name, Index: asked[0], Total: len(values), Values: []indexValue{}}
	from, found := slices.BinarySearch(values, asked[1])
	if found {
		from++
	}
	for _, value := range values[from:min(len(values), from+mostRows)] {
		n := 0
		for range w.informer.ByIndex(v.Index, value) {
			n++
		}
		v.Values = append(v.Values, indexValue{value, n})
	}
	if from+mostRows < len(values) {
		v.Next = values[from+mostRows-1]
	}
	return v, nil
}

func (h *Handler) indexPage(w http.ResponseWriter, r *http.Request) *refusal {
	v, p := h.index(r)
	if p != nil {
		return p
	}
	return h.html(w, sheet{Heading: "Index " + v.Index + " of " + v.Informer, View: "index", JSON: "index.json?" + r.URL.RawQuery, Body: v})
}

func (h *Handler) indexJSON(w http.ResponseWriter, r *http.Request) *refusal {
	v, p := h.index(r)
	if p != nil {
		return p
	}
	return asJSON(w, v)
}

// objectView is one object.
type objectView struct {
	Informer string         `json:"informer"`
	Key      string         `json:"key"`
	Secret   bool           `json:"redacted,omitempty"`
	Line     objectLine     `json:"record"`
	Object   map[string]any `json:"object"`

	YAML string `json:"-"`
	Cut  bool   `json:"-"`
}

// longestYAML is how much of an object a page shows, in bytes. As a file, it is whole.
const longestYAML = 512 << 10

func (h *Handler) object(r *http.Request) (objectView, *refusal) {
	w, p := h.chosen(r)
	if p != nil {
		return objectView{}, p
	}
	key, p := query(r.URL.Query(), "key")
	if p != nil {
		return objectView{}, p
	}
	record := w.engine.Get(key)
	if record == nil {
		return objectView{}, refuse(http.StatusNotFound, "There is no such object in the store, or not any more.")
	}
	fields, err := w.informer.Fields(record)
	if err != nil {
		return objectView{}, refuse(http.StatusUnprocessableEntity, "The object cannot be read as what the informer holds.")
	}
	v := objectView{Informer: w.informer.name, Key: key, Line: lineOf(record), Object: fields}
	if isSecret(w.informer, fields) {
		v.Object, v.Secret = redact.Secret(fields), true
	}
	return v, nil
}

// text is the object as YAML.
func (v objectView) text() (string, *refusal) {
	raw, err := yaml.Marshal(v.Object)
	if err != nil {
		return "", refuse(http.StatusUnprocessableEntity, "The object cannot be written as YAML.")
	}
	return string(raw), nil
}

func (h *Handler) objectPage(w http.ResponseWriter, r *http.Request) *refusal {
	v, p := h.object(r)
	if p != nil {
		return p
	}
	if v.YAML, p = v.text(); p != nil {
		return p
	}
	if v.Cut = len(v.YAML) > longestYAML; v.Cut {
		v.YAML = shorten(v.YAML, longestYAML)
	}
	return h.html(w, sheet{Heading: v.Key, View: "object", JSON: "object.json?" + r.URL.RawQuery, Body: v})
}

func (h *Handler) objectJSON(w http.ResponseWriter, r *http.Request) *refusal {
	v, p := h.object(r)
	if p != nil {
		return p
	}
	return asJSON(w, v)
}

func (h *Handler) objectYAML(w http.ResponseWriter, r *http.Request) *refusal {
	v, p := h.object(r)
	if p != nil {
		return p
	}
	text, p := v.text()
	if p != nil {
		return p
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text))
	return nil
}

// address is a link within the page.
func address(path string, values ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(values); i += 2 {
		if values[i+1] != "" {
			q.Set(values[i], values[i+1])
		}
	}
	return path + "?" + q.Encode()
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
