package unmarshal

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// FuzzProjection: of what can be decoded, parts are what the whole has.
func FuzzProjection(f *testing.F) {
	types := kinds(f)
	types = slices.DeleteFunc(types, func(t reflect.Type) bool { return planOf(t) == nil })
	r := rand.New(rand.NewPCG(2, 0))
	for i := range 20 {
		which := uint64(i * 13)
		obj := reflect.New(types[which%uint64(len(types))])
		fill(r, obj.Elem(), 0)
		raw, err := obj.Interface().(encoder).Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, which)
	}
	f.Fuzz(func(t *testing.T, raw []byte, which uint64) {
		typ := types[which%uint64(len(types))]
		part := somePart(rand.New(rand.NewPCG(which%4096, 0)), typ, 0) // types stay in memory, so they are not endless
		p, err := NewProjection(part, typ)
		if err != nil {
			t.Fatal(err)
		}
		projected(t, p, part, typ, raw)
	})
}
