// Package survey finds out which Go types of objects survive being encoded, and says
// so in docs/evidence/objects.md. It is for tests.
package survey

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/encode"
	"github.com/kinform/kinform/wire"
)

// File is where the results are, from the root of the repository.
const File = "docs/evidence/objects.md"

// Result is how objects of a type did.
type Result struct {
	Name string
	// Via is what they came in, Held what most of them are held as.
	Via, Held wire.Format
	// Random is how many of Of random objects survive, Sent how many of them do once
	// they were encoded and decoded, as what a server sends is.
	Random, Sent, Of int
	// Why is what is lost first of one that does not survive.
	Why string
	// Changed: an object was changed while it was encoded. None may be.
	Changed bool
}

// Verdict is the result in a few words.
func (r Result) Verdict() string {
	switch {
	case r.Random == r.Of:
		return "whole"
	case r.Sent == r.Of:
		return "as a server sends them"
	case r.Sent > 0:
		return fmt.Sprintf("%d of %d as a server sends them", r.Sent, r.Of)
	}
	return "never"
}

// Try tries n random objects of a struct type, sent in a format. It tries none if the
// type does not have it.
func Try(name string, t reflect.Type, n int, via wire.Format) Result {
	r := Result{Name: name, Via: via}
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	for attempts := 0; r.Of < n && attempts < 20*n; attempts++ {
		obj := reflect.New(t)
		fill(rnd, obj.Elem(), 0)
		sent := send(obj.Interface(), t, via)
		if sent == nil {
			continue // no server has such an object
		}
		r.Of++
		if _, ok := survives(obj.Interface()); ok {
			r.Random++
		} else if r.Why == "" {
			r.Why = lost(obj.Interface(), via)
		}
		before := sent.DeepCopyObject()
		copied := reflect.DeepEqual(before, sent) // not all types' own copies are
		if held, ok := survives(sent); ok {
			r.Sent++
			r.Held = held
		} else {
			r.Why = lost(sent, via)
		}
		if copied && !reflect.DeepEqual(before, sent) {
			r.Changed = true
		}
	}
	return r
}

func survives(obj any) (wire.Format, bool) {
	var c encode.Codec // a new one, so that none is spared
	_, f, ok := c.Encode(nil, obj)
	return f, ok
}

// send returns an object as a client makes it of what a server sends; nil if it cannot
// be sent.
func send(obj any, t reflect.Type, f wire.Format) runtime.Object {
	var c encode.Codec
	raw, ok := c.EncodeAs(nil, obj, f)
	if !ok {
		return nil
	}
	sent := reflect.New(t).Interface()
	if err := decode.Bytes(raw, f, sent); err != nil {
		return nil
	}
	return sent.(runtime.Object)
}

// lost says what an object loses first.
func lost(obj any, f wire.Format) string {
	var c encode.Codec
	raw, ok := c.EncodeAs(nil, obj, f)
	if !ok {
		return "cannot be encoded"
	}
	back, err := c.DecodeBytes(raw, f)
	if err != nil {
		return "cannot be decoded"
	}
	why := difference("", reflect.ValueOf(obj), reflect.ValueOf(back))
	return cmp.Or(why, "differs")
}

// difference returns where two values first differ, and how.
func difference(path string, a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() || a.Elem().Type() != b.Elem().Type() {
			return differs(path, a, b)
		}
		return difference(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			name := a.Type().Field(i).Name
			if why := difference(strings.TrimPrefix(path+"."+name, "."), a.Field(i), b.Field(i)); why != "" {
				return why
			}
		}
		return ""
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() || a.Kind() == reflect.Slice && a.IsNil() != b.IsNil() {
			return differs(path, a, b)
		}
		for i := range a.Len() {
			if why := difference(path+"[]", a.Index(i), b.Index(i)); why != "" {
				return why
			}
		}
		return ""
	case reflect.Map:
		if a.Len() != b.Len() || a.IsNil() != b.IsNil() {
			return differs(path, a, b)
		}
		for _, k := range a.MapKeys() {
			if v := b.MapIndex(k); !v.IsValid() {
				return path + ": another key"
			} else if why := difference(path+"[]", a.MapIndex(k), v); why != "" {
				return why
			}
		}
		return ""
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return differs(path, a, b)
	}
	if a.Equal(b) {
		return ""
	}
	return path + ": another value"
}

// differs says how two values differ of which at least one may be nil.
func differs(path string, a, b reflect.Value) string {
	switch {
	case a.IsNil() && b.IsNil():
		return ""
	case a.Kind() == reflect.Slice || a.Kind() == reflect.Map:
		if a.Len() == 0 && b.Len() == 0 {
			return path + ": empty comes back as nil"
		}
	case b.IsNil():
		return path + ": comes back as nil"
	}
	return path + ": another value"
}

// Section is the text of a part of File, which it is put into if update is set. It
// returns an error if File says something else.
func Section(root, name, text string, update bool) error {
	path := root + "/" + File
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := fmt.Sprintf("<!-- begin %s -->\n", name), fmt.Sprintf("<!-- end %s -->\n", name)
	before, rest, ok1 := strings.Cut(string(raw), begin)
	old, after, ok2 := strings.Cut(rest, end)
	switch {
	case !ok1 || !ok2:
		return fmt.Errorf("%s has no part %q", path, name)
	case old == text:
		return nil
	case !update:
		return fmt.Errorf("%s does not say what happens; -update writes it again. What happens:\n%s", path, text)
	}
	return os.WriteFile(path, []byte(before+begin+text+end+after), 0o644)
}

// Table is a table of results.
func Table(results []Result) string {
	var b strings.Builder
	b.WriteString("| Type | Held as | Survive | Lost otherwise |\n|---|---|---|---|\n")
	for _, r := range slices.SortedFunc(slices.Values(results), func(a, b Result) int { return strings.Compare(a.Name, b.Name) }) {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Name, r.Held, r.Verdict(), r.Why)
	}
	return b.String()
}
