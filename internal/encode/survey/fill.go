package survey

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// deepest is how far down values are filled.
const deepest = 12

var words = []string{"", "a", "web", "kube-system", "a longer text, with <&> \"quotes\" and ünïcode", "1", "true"}

// Fill fills a value at random, with what a program may put there.
func Fill(r *rand.Rand, v reflect.Value) { fill(r, v, 0) }

func fill(r *rand.Rand, v reflect.Value, depth int) {
	if !v.CanSet() || special(r, v) {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(r.Int64N(100))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64N(100))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(r.IntN(1000)) / 8)
	case reflect.String:
		v.SetString(words[r.IntN(len(words))])
	case reflect.Pointer:
		if depth < deepest && r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i), depth+1)
		}
	case reflect.Slice:
		if n := r.IntN(4) - 1; n >= 0 && depth < deepest {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(r, v.Index(i), depth+1)
			}
		}
	case reflect.Map:
		fillMap(r, v, depth)
	}
}

func fillMap(r *rand.Rand, v reflect.Value, depth int) {
	n := r.IntN(4) - 1
	if n < 0 || depth >= deepest {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(r, key, depth+1)
		fill(r, value, depth+1)
		v.SetMapIndex(key, value)
	}
}

var quantities = []string{"0", "100m", "1", "1500m", "128Mi", "1Gi", "0.5", "1e3", "12345678901234567890"}

// special fills values of types that mean more than their fields do.
func special(r *rand.Rand, v reflect.Value) bool {
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Unix(r.Int64N(2e9), 0)
		if r.IntN(4) == 0 {
			*at = at.UTC()
		}
	case *metav1.MicroTime:
		at.Time = time.Unix(r.Int64N(2e9), r.Int64N(1e6)*1e3)
	case *resource.Quantity:
		*at = resource.MustParse(quantities[r.IntN(len(quantities))])
	case *intstr.IntOrString:
		if *at = intstr.FromInt32(r.Int32N(100)); r.IntN(2) == 0 {
			*at = intstr.FromString("50%")
		}
	default:
		return rawJSON(r, v)
	}
	return true
}

var documents = []string{`{"a":1}`, `{"a":{"b":[1,2,"c"]},"d":null}`, `"text"`, `[]`}

// rawJSON fills a struct that writes its field Raw as JSON.
func rawJSON(r *rand.Rand, v reflect.Value) bool {
	if v.Kind() != reflect.Struct || !v.Addr().Type().Implements(reflect.TypeFor[json.Marshaler]()) {
		return false
	}
	raw := v.FieldByName("Raw")
	if !raw.IsValid() || raw.Type() != reflect.TypeFor[[]byte]() {
		return false
	}
	if r.IntN(3) > 0 {
		raw.SetBytes([]byte(documents[r.IntN(len(documents))]))
	}
	return true
}
