package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform/internal/humane"
	"github.com/kinform/kinform/internal/redact"
)

type unstructuredObject = unstructured.Unstructured

// show prints what was found, and says what is missing.
func (q *query) show(s *screen) error {
	if by := q.index(); by.path != "" && by.op != "=" {
		return q.showCounts(s, by.path)
	}
	all, err := q.find()
	if err != nil {
		return err
	}
	page := all
	if q.limit > 0 {
		page = all[:min(len(all), q.limit)]
	}
	next := ""
	if rest := len(all) - len(page); rest > 0 {
		next = page[len(page)-1].mark()
	}
	text, err := q.text(s, page, next, len(all)-len(page))
	if err == nil {
		err = s.print(text)
	}
	if err != nil {
		return unwritten(err)
	}
	switch {
	case len(all) == 0:
		s.note("nothing found")
	case next != "":
		s.note(fmt.Sprintf("%s more; go on with --continue %s", humane.Thousands(len(all)-len(page)), next))
	}
	return nil
}

func (q *query) text(s *screen, page []found, next string, rest int) (string, error) {
	switch q.format {
	case "name":
		var b strings.Builder
		for _, f := range page {
			fmt.Fprintf(&b, "%s/%s\n", f.name, printable(f.Name()))
		}
		return b.String(), nil
	case "table":
		if len(page) == 0 {
			return "", nil
		}
		t, err := q.table(page)
		if err != nil {
			return "", err
		}
		return strings.Join(t.painted(s.colours, s.width()), "\n") + "\n", nil
	}
	list, err := q.list(page, next, rest)
	if err != nil {
		return "", err
	}
	if q.format == "json" {
		return jsonText(list)
	}
	raw, err := yaml.Marshal(list)
	return string(raw), err
}

// list is what -o json and yaml show.
func (q *query) list(page []found, next string, rest int) (map[string]any, error) {
	items := []any{}
	for _, f := range page {
		obj, err := f.shown(q.managed)
		if err != nil {
			return nil, err
		}
		items = append(items, obj)
	}
	meta := map[string]any{}
	if next != "" {
		meta["continue"], meta["remainingItemCount"] = next, rest
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "metadata": meta, "items": items}, nil
}

// shown decodes an object as it may be shown.
func (f found) shown(managed bool) (map[string]any, error) {
	obj, err := f.Object()
	if err != nil {
		return nil, err
	}
	fields := obj.Object
	if f.secret || obj.GetKind() == "Secret" && obj.GetAPIVersion() == "v1" {
		_, fields = redact.Secrets(nil, fields)
	}
	meta, ok := fields["metadata"].(map[string]any)
	if !ok {
		return fields, nil
	}
	fields, meta = maps.Clone(fields), maps.Clone(meta)
	if !managed {
		delete(meta, "managedFields")
	}
	meta["resourceVersion"] = obj.GetResourceVersion() // hiding a Secret's values takes it away
	fields["metadata"] = meta
	return fields, nil
}

// table has a line for each object: what it is, a phrase about it, its age, and the
// columns that were asked for.
func (q *query) table(page []found) (*table, error) {
	several := len(q.targets) > 1
	namespaces := slices.ContainsFunc(page, func(f found) bool { return f.Namespace() != page[0].Namespace() }) || q.allNamespaces
	t := &table{}
	head := func(yes bool, title string) {
		if yes {
			t.head = append(t.head, title)
		}
	}
	head(several, "RESOURCE")
	head(namespaces, "NAMESPACE")
	head(true, "NAME")
	head(len(q.columns) == 0, "STATE")
	for _, path := range q.columns {
		t.head = append(t.head, strings.ToUpper(path[strings.LastIndex(path, ".")+1:]))
	}
	head(true, "AGE")
	now := time.Now()
	for _, f := range page {
		obj, err := f.Object()
		if err != nil {
			return nil, err
		}
		var cells []string
		if several {
			cells = append(cells, f.name)
		}
		if namespaces {
			cells = append(cells, f.Namespace())
		}
		cells = append(cells, f.Name())
		if len(q.columns) == 0 {
			cells = append(cells, phraseOf(obj.Object))
		}
		for _, path := range q.columns {
			cells = append(cells, q.cell(f, path))
		}
		t.add(append(cells, duration.HumanDuration(now.Sub(obj.GetCreationTimestamp().Time)))...)
	}
	return t, nil
}

// cell is what a table shows of a field.
func (q *query) cell(f found, path string) string {
	if f.hides(path) {
		return redact.Hidden
	}
	return some(q.fields[f.target][path].Get(f.record), 3)
}

// valueCount is how many objects of a resource have a value.
type valueCount struct {
	Resource string `json:"resource"`
	Value    string `json:"value"`
	Objects  int    `json:"objects"`
}

// showCounts shows the values of an index.
func (q *query) showCounts(s *screen, path string) error {
	var counts []valueCount
	for _, t := range q.targets {
		for _, v := range q.indexes[t].Values() {
			n := 0
			for r := range q.indexes[t].Records(v) {
				if q.holds(t, r) {
					n++
				}
			}
			if t.hides(path) {
				v = redact.Hidden
			}
			if n > 0 {
				counts = append(counts, valueCount{t.name, v, n})
			}
		}
	}
	slices.SortFunc(counts, func(a, b valueCount) int {
		return cmp.Or(cmp.Compare(b.Objects, a.Objects), strings.Compare(a.Resource, b.Resource), strings.Compare(a.Value, b.Value))
	})
	rest := 0
	if q.limit > 0 && len(counts) > q.limit {
		rest, counts = len(counts)-q.limit, counts[:q.limit]
	}
	text, err := q.countsText(s, counts)
	if err == nil {
		err = s.print(text)
	}
	if err != nil {
		return unwritten(err)
	}
	switch {
	case len(counts) == 0:
		s.note("nothing found")
	case rest > 0:
		s.note(humane.Thousands(rest) + " more")
	}
	return nil
}

func (q *query) countsText(s *screen, counts []valueCount) (string, error) {
	switch q.format {
	case "json":
		return jsonText(counts)
	case "yaml":
		raw, err := yaml.Marshal(counts)
		return string(raw), err
	}
	if len(counts) == 0 {
		return "", nil
	}
	t := &table{head: []string{"OBJECTS", "RESOURCE", "VALUE"}}
	t.numbers(1)
	for _, c := range counts {
		t.add(humane.Thousands(c.Objects), c.Resource, c.Value)
	}
	return strings.Join(t.painted(s.colours, s.width()), "\n") + "\n", nil
}
