package encode

import "reflect"

// Same compares two objects of one type as a proof does.
func Same(a, b any) bool {
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	return equalOf(v.Type().Elem(), map[reflect.Type]*equal{})(v.UnsafePointer(), w.UnsafePointer())
}
