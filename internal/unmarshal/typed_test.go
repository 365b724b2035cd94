package unmarshal

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"

	"github.com/kinform/kinform/internal/objects"
)

// sameTyped compares what JSONInto makes of a text with what sigs.k8s.io/json does.
func sameTyped(t testing.TB, typ reflect.Type, raw []byte) {
	t.Helper()
	got, want := reflect.New(typ), reflect.New(typ)
	errWant := kjson.UnmarshalCaseSensitivePreserveInts(slices.Clone(raw), want.Interface())
	given := slices.Clone(raw)
	errGot := JSONInto(given, got.Interface())
	for i := range given {
		given[i] = 'x' // nothing may be kept of it
	}
	if (errGot == nil) != (errWant == nil) || errWant != nil && errGot.Error() != errWant.Error() {
		t.Fatalf("%s from %q: %v, want %v", typ, raw, errGot, errWant)
	}
	if errWant == nil && !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Fatalf("%s from %q:\n got %#v\nwant %#v", typ, raw, got.Interface(), want.Interface())
	}
}

// Every type of client-go's scheme, filled at random, decodes as by sigs.k8s.io/json.
func TestEveryKindDecodesFromJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	byShape := 0
	for _, typ := range kinds(t) {
		if shapeOf(typ).kind == shapeStruct {
			byShape++
		}
		for range 8 {
			obj := reflect.New(typ)
			fill(r, obj.Elem(), 0)
			raw, err := json.Marshal(obj.Interface())
			if err != nil {
				t.Fatalf("%s: %v", typ, err)
			}
			sameTyped(t, typ, raw)
			for range 4 {
				sameTyped(t, typ, damage(r, raw))
				sameTyped(t, typ, shuffled(r, raw))
			}
		}
	}
	t.Logf("%d kinds, %d of them by shape", len(kinds(t)), byShape)
	if byShape < 200 {
		t.Errorf("only %d kinds are decoded by shape", byShape)
	}
}

// shuffled replaces some values of a document by values of other types.
func shuffled(r *rand.Rand, raw []byte) []byte {
	var doc any
	if json.Unmarshal(raw, &doc) != nil {
		return raw
	}
	var walk func(v any) any
	walk = func(v any) any {
		if r.IntN(12) == 0 {
			others := []any{nil, true, "text", "", 0, -1, 1.5, 1 << 40, []any{}, []any{nil}, map[string]any{}, map[string]any{"a": nil}, "2020-01-02T03:04:05Z"}
			return others[r.IntN(len(others))]
		}
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		}
		return v
	}
	out, err := json.MarshalIndent(walk(doc), " ", "\t")
	if err != nil {
		return raw
	}
	return out
}

type name string

type lower string

func (l *lower) UnmarshalText(b []byte) error { *l = lower(strings.ToLower(string(b))); return nil }

// keeps is a type that keeps what it is given, as it must not.
type keeps struct{ b []byte }

func (k *keeps) UnmarshalJSON(b []byte) error { k.b = b; return nil }

type tree struct {
	Name     string           `json:"name"`
	Children []tree           `json:"children"`
	ByName   map[string]*tree `json:"byName"`
	Next     *tree            `json:"next"`
}

type inner struct {
	Inner string `json:"inner"`
	Both  string `json:"both"`
}

// oddities has a field of each sort that types of programs have.
type oddities struct {
	metav1.TypeMeta `json:",inline"`
	inner
	Named     inner `json:"named"`
	Untagged  string
	Hidden    string `json:"-"`
	private   string
	Any       any                     `json:"any"`
	Anys      map[string]any          `json:"anys"`
	Object    runtime.Object          `json:"object"`
	Raw       json.RawMessage         `json:"raw"`
	Extension *runtime.RawExtension   `json:"extension"`
	Number    json.Number             `json:"number"`
	Lower     lower                   `json:"lower"`
	Lowers    map[lower]lower         `json:"lowers"`
	Keeps     keeps                   `json:"keeps"`
	KeepsAll  []*keeps                `json:"keepsAll"`
	Names     map[name]name           `json:"names"`
	Numbers   map[int]string          `json:"numbers"`
	Ints      []int8                  `json:"ints"`
	Uint      *uint16                 `json:"uint"`
	Float     float32                 `json:"float"`
	Floats    map[string]float64      `json:"floats"`
	Bytes     []byte                  `json:"bytes"`
	Array     [2]int                  `json:"array"`
	Pointers  **string                `json:"pointers"`
	Bool      *bool                   `json:"bool"`
	Time      *metav1.Time            `json:"time"`
	Times     []metav1.Time           `json:"times"`
	Micro     metav1.MicroTime        `json:"micro"`
	Plain     time.Time               `json:"plain"`
	For       metav1.Duration         `json:"for"`
	Port      intstr.IntOrString      `json:"port"`
	Ports     []*intstr.IntOrString   `json:"ports"`
	Tree      tree                    `json:"tree"`
	Anonymous struct{ A, B int }      `json:"anonymous"`
	Lists     [][]string              `json:"lists"`
	Resources corev1.ResourceList     `json:"resources"`
	Maps      map[string]map[name]int `json:"maps"`
}

var oddTexts = []string{
	`{"kind":"K","apiVersion":"v1","inner":"a","both":"b","named":{"inner":"c"},"Untagged":"d","Hidden":"x","private":"x","untagged":"x"}`,
	`{"any":{"a":[1,2.5,"x",null,{"b":{}}]},"anys":{"a":1,"b":{"c":[{}]}},"raw": {"a" : [1] } ,"extension":{"a": 1}}`,
	`{"any":1,"any":2}`, `{"tree":{"name":"a"},"tree":{"children":[]}}`, `{"ints":[1,2,3],"ints":[4]}`,
	`{"object":null}`, `{"object":{}}`, `{"number":12,"lower":"ABC","lowers":{"A":"B"},"keeps":{"a": 1},"keepsAll":[null,1,"x",[2]]}`,
	`{"number":"12"}`, `{"number":"x"}`, `{"lower":1}`, `{"names":{"a":"b","c":null},"numbers":{"1":"a"}}`, `{"numbers":{"x":"a"}}`,
	`{"ints":[1,-128,127]}`, `{"ints":[128]}`, `{"ints":[1.0]}`, `{"ints":["1"]}`, `{"ints":{}}`, `{"ints":[]}`, `{"ints":null}`,
	`{"uint":65535,"float":1e3,"floats":{"a":-0.5,"b":7}}`, `{"uint":-1}`, `{"uint":65536}`, `{"float":1e40}`, `{"float":"x"}`,
	`{"bytes":"aGVsbG8="}`, `{"bytes":"a\nGVsbG8="}`, `{"bytes":"aGV\\nsbG8="}`, `{"bytes":"!"}`, `{"bytes":""}`, `{"bytes":[1,2]}`, `{"bytes":null}`,
	`{"array":[1]}`, `{"array":[1,2,3]}`, `{"pointers":"x","bool":true}`, `{"pointers":null,"bool":null}`, `{"bool":"true"}`, `{"bool":1}`,
	`{"time":"2020-01-02T03:04:05Z","times":["2020-01-02T03:04:05.5+02:00",null],"micro":"2020-01-02T03:04:05.000006Z","plain":"2020-01-02T03:04:05Z","for":"1m30s"}`,
	`{"time":""}`, `{"time":1}`, `{"time":null,"times":null}`, `{"times":["yesterday"]}`, `{"for":1}`,
	`{"port":80,"ports":["http",null,1]}`, `{"port":80.5}`, `{"port":3000000000}`, `{"port":null}`, `{"port":true}`, `{"port":{}}`,
	`{"tree":{"name":"a","children":[{"name":"b","next":{"name":"c"}},{}],"byName":{"d":{"children":[{"name":"e"}]},"f":null}}}`,
	`{"anonymous":{"A":1,"B":2,"a":3},"lists":[["a"],[],null]}`, `{"lists":"x"}`, `{"resources":{"cpu":"100m","memory":1,"x":null}}`, `{"resources":{"cpu":"x"}}`,
	`{"maps":{"a":{"b":1},"c":{},"d":null}}`, `{"maps":{"a":{"b":1},"a":{"c":2}}}`, `{"names":{"a":"1","a":"2"}}`, `{"names":[]}`, `{"names":"x"}`, `{"names":{"a":1}}`,
	`{"unknown":{"a":[1,{"b":2},[]],"c":"\\u00e9"},"Untagged":"after"}`, `{"unknown":tru}`, `{"unknown":[1,2}`, `{"Untagged":"\\ud83d\\ude00"}`,
	"{\"Untagged\":\"bad \xff\"}", "{\"unknown\":\"bad \xff\"}", `{"\\u0055ntagged":"escaped"}`, `{"kind":1}`, ` { "kind" : "K" , "ints" : [ 1 , 2 ] , "names" : { "a" : "b" } } `, `{"kind":"K"} x`,
}

// Types and texts as programs have them decode as by sigs.k8s.io/json.
func TestOddTypesDecodeAsKubernetesDoes(t *testing.T) {
	typ := reflect.TypeFor[oddities]()
	if shapeOf(typ).kind != shapeStruct {
		t.Fatal("it is not decoded by its shape")
	}
	r := rand.New(rand.NewPCG(1, 0))
	for _, text := range append(oddTexts, texts...) {
		sameTyped(t, typ, []byte(text))
		for range 50 {
			sameTyped(t, typ, damage(r, []byte(text)))
			sameTyped(t, typ, shuffled(r, []byte(text)))
		}
	}
}

// TestLeftToOthers: types whose fields are not where they seem to be.
func TestLeftToOthers(t *testing.T) {
	type twice struct {
		inner
		Both int `json:"both"`
	}
	type pointer struct{ *tree }
	type quoted struct {
		N int `json:"n,string"`
	}
	type unnamed struct {
		S struct{ keeps } `json:"s"`
	}
	type timePointer *metav1.Time
	type named struct {
		At timePointer `json:"at"`
	}
	dash := reflect.StructOf([]reflect.StructField{{Name: "Dash", Type: reflect.TypeFor[string](), Tag: `json:"-,"`}})
	for typ, text := range map[reflect.Type]string{
		dash:                              `{"-":"x","Dash":"y"}`,
		reflect.TypeFor[twice]():          `{"both":1,"inner":"x"}`,
		reflect.TypeFor[pointer]():        `{"name":"x"}`,
		reflect.TypeFor[quoted]():         `{"n":"1"}`,
		reflect.TypeFor[named]():          `{"at":"2020-01-02T03:04:05Z"}`,
		reflect.TypeFor[unnamed]():        `{"s":{"b":"x"}}`,
		reflect.TypeFor[keeps]():          `{"a":1}`,
		reflect.TypeFor[map[string]int](): `{"a":1}`,
	} {
		sameTyped(t, typ, []byte(text))
	}
}

func FuzzTyped(f *testing.F) {
	for _, text := range append(oddTexts, texts...) {
		f.Add([]byte(text))
	}
	pod, odd := reflect.TypeFor[corev1.Pod](), reflect.TypeFor[oddities]()
	f.Fuzz(func(t *testing.T, raw []byte) {
		sameTyped(t, pod, raw)
		sameTyped(t, odd, raw)
	})
}

func BenchmarkPodFromJSON(b *testing.B) {
	var raws [][]byte
	for pod := range objects.New(objects.Options{Seed: 1}).Pods(2000) {
		raw, err := json.Marshal(pod)
		if err != nil {
			b.Fatal(err)
		}
		raws = append(raws, raw)
	}
	for _, way := range []struct {
		name   string
		decode func([]byte, any) error
	}{{"sigs.k8s.io", kjson.UnmarshalCaseSensitivePreserveInts}, {"here", JSONInto}} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := way.decode(raws[i%len(raws)], &corev1.Pod{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
