package debug

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"net/http"
	"strings"

	"github.com/kinform/kinform/internal/humane"
)

//go:embed page
var assets embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"size":     humane.Size[int],
	"size64":   humane.Size[int64],
	"count":    humane.Thousands[int],
	"count64":  humane.Thousands[uint64],
	"clock":    clock,
	"stamp":    stamp,
	"to":       address,
	"labels":   joinLabels,
	"changeOf": func(informer string, c shownChange) changeOf { return changeOf{informer, c} },
}).ParseFS(assets, "page/*.html"))

// sheet is what every page has.
type sheet struct {
	Title   string // of the program
	Heading string // of the page
	View    string // the template of the page
	JSON    string // where the same is as JSON
	Live    string // where the page hears what is new; "" if it does not change
	Body    any
}

// html answers with a page. It is made whole before anything is sent, so that an error
// is an error.
func (h *Handler) html(w http.ResponseWriter, s sheet) *refusal {
	s.Title = h.options.Title
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, "sheet.html", s); err != nil {
		return refuse(http.StatusInternalServerError, "The page cannot be made.")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // who does not listen any more misses nothing
	return nil
}

// fragment is a part of a page.
func fragment(name string, data any) string {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return ""
	}
	return b.String()
}

func asJSON(w http.ResponseWriter, v any) *refusal {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return refuse(http.StatusInternalServerError, "The answer cannot be made.")
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(b.Bytes())
	return nil
}

// asset answers with a file that comes with the page.
func asset(name, contentType string) view {
	raw, err := assets.ReadFile("page/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return func(w http.ResponseWriter, _ *http.Request) *refusal {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(raw)
		return nil
	}
}

// refusal is why a request is not answered as it wanted.
type refusal struct {
	code int
	text string
	to   string // where a browser goes on by itself
}

func refuse(code int, text string) *refusal { return &refusal{code: code, text: text} }

// answer says it: to programs as JSON, to others as a page.
func (p *refusal) answer(w http.ResponseWriter, r *http.Request, title string) {
	if p.code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "10")
	}
	if strings.HasSuffix(r.URL.Path, ".json") {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(p.code)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": p.text})
		return
	}
	var b bytes.Buffer
	_ = templates.ExecuteTemplate(&b, "refusal.html", map[string]string{"Title": title, "Text": p.text, "To": p.to})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(p.code)
	_, _ = w.Write(b.Bytes())
}

// joinLabels writes labels in their order.
func joinLabels(l map[string]string) []string {
	var all []string
	for _, key := range sortedKeys(l) {
		all = append(all, key+"="+l[key])
	}
	return all
}
