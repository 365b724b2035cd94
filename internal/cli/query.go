package cli

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	quantities "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/wire"
)

// record is an object that is not decoded.
type record = kinform.Record[*unstructured.Unstructured]

// texts reads every value of a field from the bytes.
type texts = kinform.TypedField[*unstructured.Unstructured, []string]

// condition is one --where: a field, how it is compared, and with what. Without an
// operator the field has to be there, or, with "!", not.
type whereClause struct{ path, op, value string }

// The operators, longer ones first.
var operators = []string{"!=", ">=", "<=", "==", "=", ">", "<"}

// parseWhere reads "spec.nodeName=node-1", "!status.reason", and the like. An operator in
// brackets is part of the path.
func parseWhere(text string) (whereClause, error) {
	depth := 0
	for i, r := range text {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth > 0 || i == 0 {
			continue
		}
		for _, op := range operators {
			if strings.HasPrefix(text[i:], op) {
				w := whereClause{strings.TrimSpace(text[:i]), strings.Replace(op, "==", "=", 1), strings.TrimSpace(text[i+len(op):])}
				_, err := wire.ParsePart(w.path, nil)
				return w, err
			}
		}
	}
	w := whereClause{path: text}
	if path, not := strings.CutPrefix(text, "!"); not {
		w = whereClause{path: path, op: "!"}
	}
	_, err := wire.ParsePart(w.path, nil)
	return w, err
}

// holds reports whether one of the values of an object fits, or with "!=" none of them.
func (w whereClause) holds(values []string) bool {
	fits := func(v string) bool {
		order := compareValues(valueOf(v), valueOf(w.value))
		return map[string]bool{"=": order == 0, "!=": order == 0, ">": order > 0, "<": order < 0, ">=": order >= 0, "<=": order <= 0}[w.op]
	}
	switch w.op {
	case "":
		return len(values) > 0
	case "!":
		return len(values) == 0
	case "!=":
		return !slices.ContainsFunc(values, fits)
	}
	return slices.ContainsFunc(values, fits)
}

// value is one that can be compared: as a number if it is one, or a quantity such as
// 100Mi, else as a text.
type value struct {
	text   string
	number float64
	is     bool
	none   bool
}

// longestNumber is how long a text may be that is read as a number.
const longestNumber = 32

func valueOf(text string) value {
	v := value{text: text}
	if text == "" || text[0] > '9' || len(text) > longestNumber { // no number begins so; most texts do
		return v
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		v.number, v.is = n, true
		return v
	}
	if q, err := quantities.ParseQuantity(text); err == nil {
		v.number, v.is = q.AsApproximateFloat64(), true
	}
	return v
}

// compareValues compares two; none comes last.
func compareValues(a, b value) int {
	switch {
	case a.none || b.none:
		return cmp.Compare(boolInt(a.none), boolInt(b.none))
	case a.is && b.is:
		return cmp.Compare(a.number, b.number)
	}
	return strings.Compare(a.text, b.text)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// checkPath returns an error if none of the targets' objects can have a field, as far as
// their types are known.
func checkPath(targets []*target, path string) error {
	var first error
	for _, t := range targets {
		obj, err := scheme.Scheme.New(t.kind)
		if err != nil {
			return nil // a custom resource: it may have anything
		}
		_, err = wire.ParsePart(path, reflect.TypeOf(obj).Elem())
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// found is one object that was asked for.
type found struct {
	*target
	record
	order int   // that of its target
	by    value // what it is sorted by
}

// mark is where a page ended: what its last object is, and is sorted by.
type mark struct {
	By    string `json:"b,omitempty"`
	None  bool   `json:"n,omitempty"`
	Order int    `json:"o"`
	Key   string `json:"k"`
}

func (f found) mark() string {
	raw, _ := json.Marshal(mark{f.by.text, f.by.none, f.order, f.Key()}) // it is plain
	return base64.RawURLEncoding.EncodeToString(raw)
}

func parseMark(text string) (m mark, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		return m, fmt.Errorf("--continue %q does not come from a page before", text)
	}
	return m, nil
}

// place is where an object comes in the order.
func (f found) place(descending bool) func(by value, order int, key string) int {
	return func(by value, order int, key string) int {
		c := compareValues(f.by, by)
		if descending && !f.by.none && !by.none {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(f.order, order), strings.Compare(f.Key(), key))
	}
}

// sortFound sorts, and leaves out what comes before the mark, if there is one.
func sortFound(all []found, descending bool, after string) ([]found, error) {
	slices.SortFunc(all, func(a, b found) int { return a.place(descending)(b.by, b.order, b.Key()) })
	if after == "" {
		return all, nil
	}
	m, err := parseMark(after)
	if err != nil {
		return nil, err
	}
	by := valueOf(m.By)
	by.none = m.None
	i := slices.IndexFunc(all, func(f found) bool { return f.place(descending)(by, m.Order, m.Key) > 0 })
	if i < 0 {
		return nil, nil
	}
	return all[i:], nil
}
