package unmarshal

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"

	"github.com/kinform/kinform/internal/objects"
)

// sameJSON compares what JSON makes of a text with what sigs.k8s.io/json does.
func sameJSON(t testing.TB, raw []byte) {
	t.Helper()
	var want map[string]any
	errWant := kjson.UnmarshalCaseSensitivePreserveInts(raw, &want)
	got, errGot := JSON(raw)
	if (errGot == nil) != (errWant == nil) || errWant != nil && errGot.Error() != errWant.Error() {
		t.Fatalf("%q: %v, want %v", raw, errGot, errWant)
	}
	if errWant == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q:\n got %#v\nwant %#v", raw, got, want)
	}
}

var texts = []string{
	`{}`, ` { } `, `null`, `[]`, `1`, `"x"`, ``, ` `, `{`, `}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}x`, `{"a":1}{}`,
	`{"a":1,"a":2}`, `{"a":{"b":1},"a":{"c":2}}`, `{"":""}`, `{"a":null,"b":true,"c":false,"d":nul}`,
	`{"n":[0,-0,1,-1,9223372036854775807,9223372036854775808,-9223372036854775808,1.0,1e3,1E+3,-1.5e-3,0.1]}`,
	`{"n":01}`, `{"n":1.}`, `{"n":.1}`, `{"n":1e}`, `{"n":+1}`, `{"n":-}`, `{"n":1e999}`, `{"n":0x1}`,
	`{"s":"\\" \\\\ \\/ \\b\\f\\n\\r\\t \u00e9 \u0000"}`, `{"s":"\\ud83d\\ude00"}`, `{"s":"\\ud83d"}`, `{"s":"\\u12"}`, `{"s":"\\u+123"}`, `{"s":"\\x"}`,
	"{\"s\":\"tab\there\"}", "{\"s\":\"bad \xff\"}", "{\"s\":\"é\"}", `{"s":"no end`, `{"s":"end \\`,
	`{"a":[1,[2,[3,{"b":[]}]],"x"]}`, `{"a":[1,]}`, `{"a":[,]}`, `{"a":[1 2]}`, "{\n\t\"a\" : 1 ,\r\n \"b\":[ ] }",
	`{"long":"` + strings.Repeat("x", 300) + `"}`,
	`{"deep":` + strings.Repeat("[", 1100) + strings.Repeat("]", 1100) + `}`,
	`{"too deep":` + strings.Repeat("[", 11000) + strings.Repeat("]", 11000) + `}`,
}

func TestJSONDecodesAsKubernetesDoes(t *testing.T) {
	for _, text := range texts {
		sameJSON(t, []byte(text))
	}
	r := rand.New(rand.NewPCG(1, 0))
	for _, raw := range customResources(t, 100) {
		sameJSON(t, raw)
		for range 50 {
			sameJSON(t, damage(r, raw))
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	for _, raw := range customResources(f, 3) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) { sameJSON(t, raw) })
}

func customResources(t testing.TB, n int) (raws [][]byte) {
	for _, o := range slices.Collect(objects.New(objects.Options{Seed: 1}).CustomResources(n)) {
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		raws = append(raws, raw)
	}
	return raws
}

func BenchmarkCustomResource(b *testing.B) {
	raws := customResources(b, 2000)
	for _, way := range []struct {
		name   string
		decode func([]byte) (map[string]any, error)
	}{
		{"sigs.k8s.io", func(raw []byte) (obj map[string]any, err error) {
			return obj, kjson.UnmarshalCaseSensitivePreserveInts(raw, &obj)
		}},
		{"here", JSON},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := way.decode(raws[i%len(raws)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
