package unmarshal

import (
	"reflect"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Message is what generated types have.
type Message interface{ Unmarshal([]byte) error }

// plan says how the fields of a struct are found in its encoding.
type plan struct {
	fields []field // by number
	broken bool    // some field cannot be decoded: left to the type's own method
	// quantities: values of the type may have a quantity that is not in a map. It remembers
	// its text, and changes its form, when it is read.
	quantities bool
	made       bool // all fields are known
	partial    bool // some field is not a part of the encoding
}

// field is one field of a struct.
type field struct {
	op     op
	wire   uint8        // the wire type that op expects
	offset uintptr      // in the struct
	of     *plan        // of a message
	typ    reflect.Type // of what has to be made
	size   uintptr      // of an element of a slice
}

// op is how a field is decoded. The suffixes: Ptr for *T, Slice for []T.
type op uint8

const (
	skip op = iota
	opString
	opStringPtr
	opStringSlice
	opBytes
	opBool
	opBoolPtr
	op32
	op32Ptr
	op32Slice
	op64
	op64Ptr
	op64Slice
	opMessage
	opMessagePtr
	opMessageSlice
	opMethod // the type's own Unmarshal
	opMethodPtr
	opMethodSlice
	opTime
	opTimePtr
	opQuantity
	opQuantityPtr
	opStringMap   // map[string]string
	opBytesMap    // map[string][]byte
	opQuantityMap // map[string]resource.Quantity
)

const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

var (
	messageType  = reflect.TypeFor[Message]()
	typeMetaType = reflect.TypeFor[metav1.TypeMeta]()
	timeType     = reflect.TypeFor[metav1.Time]()
	quantityType = reflect.TypeFor[resource.Quantity]()
	bytesType    = reflect.TypeFor[[]byte]()
)

var plans struct {
	mu    sync.Mutex
	known map[reflect.Type]*plan // nil: left to the type's own method
	ready sync.Map               // the same, of reflect.Type and *plan, for readers
}

// planOf returns the plan of a struct type, nil if it has none.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.ready.Load(t); ok {
		return p.(*plan)
	}
	plans.mu.Lock()
	defer plans.mu.Unlock()
	if plans.known == nil {
		plans.known = map[reflect.Type]*plan{}
	}
	p := makePlan(t)
	plans.ready.Store(t, p)
	return p
}

// makePlan returns the plan of a struct type, or nil. Types that contain
// themselves find the plan that is being made.
func makePlan(t reflect.Type) *plan {
	if p, ok := plans.known[t]; ok {
		return p
	}
	p := &plan{}
	plans.known[t] = p
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Type == typeMetaType && sf.Tag.Get("protobuf") == "" {
			p.partial = true
			continue // not a part of the encoding
		}
		number, ok := parseTag(sf.Tag.Get("protobuf"))
		f := fieldOf(sf.Type)
		if !ok || f.op == skip || number < len(p.fields) && p.fields[number].op != skip {
			p.broken = true // for types inside t that found its plan meanwhile
			plans.known[t] = nil
			return nil
		}
		f.offset = sf.Offset
		for len(p.fields) <= number {
			p.fields = append(p.fields, field{})
		}
		p.fields[number] = f
		p.quantities = p.quantities || f.quantities()
	}
	p.made = true
	return p
}

// largestNumber is that of the fields that a plan may have.
const largestNumber = 255

func parseTag(tag string) (number int, ok bool) {
	parts := strings.Split(tag, ",")
	if len(parts) < 2 {
		return 0, false
	}
	number, err := strconv.Atoi(parts[1])
	return number, err == nil && number > 0 && number <= largestNumber
}

// fieldOf returns how a field of a type is decoded; op is skip if it cannot be.
func fieldOf(t reflect.Type) field {
	switch t.Kind() {
	case reflect.Map:
		return mapOf(t)
	case reflect.Pointer:
		f := single(t.Elem())
		if f.op = pointerTo[f.op]; f.op != skip {
			f.typ = t.Elem()
		}
		return f
	case reflect.Slice:
		switch {
		case reflect.PointerTo(t).Implements(messageType):
			return byMethod(t) // a list in its own message
		case t == bytesType:
			return field{op: opBytes, wire: wireBytes}
		}
		f := single(t.Elem())
		if f.op = sliceOf[f.op]; f.op != skip {
			f.typ, f.size = t, t.Elem().Size()
		}
		return f
	}
	return single(t)
}

var pointerTo = map[op]op{opString: opStringPtr, opBool: opBoolPtr, op32: op32Ptr, op64: op64Ptr,
	opMessage: opMessagePtr, opMethod: opMethodPtr, opTime: opTimePtr, opQuantity: opQuantityPtr}

var sliceOf = map[op]op{opString: opStringSlice, op32: op32Slice, op64: op64Slice,
	opMessage: opMessageSlice, opMethod: opMethodSlice, opTime: opMethodSlice, opQuantity: opMethodSlice}

func single(t reflect.Type) field {
	switch t.Kind() {
	case reflect.String:
		return field{op: opString, wire: wireBytes}
	case reflect.Bool:
		return field{op: opBool, wire: wireVarint}
	case reflect.Int32, reflect.Uint32:
		return field{op: op32, wire: wireVarint}
	case reflect.Int64, reflect.Uint64:
		return field{op: op64, wire: wireVarint}
	case reflect.Struct:
		switch {
		case t == timeType:
			return field{op: opTime, wire: wireBytes, typ: t}
		case t == quantityType:
			return field{op: opQuantity, wire: wireBytes, typ: t}
		}
		if p := makePlan(t); p != nil {
			return field{op: opMessage, wire: wireBytes, of: p, typ: t}
		}
		return byMethod(t)
	}
	return field{}
}

func byMethod(t reflect.Type) field {
	if reflect.PointerTo(t).Implements(messageType) {
		return field{op: opMethod, wire: wireBytes, typ: t}
	}
	return field{}
}

func mapOf(t reflect.Type) field {
	f := field{wire: wireBytes}
	switch {
	case t.Key().Kind() != reflect.String:
	case t.Elem().Kind() == reflect.String:
		f.op = opStringMap
	case t.Elem() == bytesType:
		f.op = opBytesMap
	case t.Elem() == quantityType:
		f.op = opQuantityMap
	}
	return f
}
