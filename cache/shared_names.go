package cache

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
)

// handlerName says whose handler it is: the type that has the methods, or for a
// set of functions where they are declared.
func handlerName(h ResourceEventHandler) string {
	name := ""
	switch h := h.(type) {
	case nil:
	case ResourceEventHandlerFuncs:
		name = functionsName(h.AddFunc, h.UpdateFunc, h.DeleteFunc)
	case *ResourceEventHandlerFuncs:
		name = functionsName(h.AddFunc, h.UpdateFunc, h.DeleteFunc)
	default:
		t := reflect.TypeOf(h)
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if name = t.Name(); name != "" && t.PkgPath() != "" {
			name = t.PkgPath() + "." + name
		}
	}
	if name == "" {
		name = fmt.Sprintf("%T", h)
	}
	return name
}

// functionsName is what the names of functions have in common before their last
// part, or else all of them.
func functionsName(functions ...any) string {
	var names, owners []string
	for _, f := range functions {
		v := reflect.ValueOf(f)
		if v.IsNil() {
			continue
		}
		if fn := runtime.FuncForPC(v.Pointer()); fn != nil {
			names = append(names, fn.Name())
			owner := fn.Name()
			if dot := strings.LastIndexByte(owner, '.'); dot > 0 {
				owner = owner[:dot]
			}
			owners = append(owners, owner)
		}
	}
	if len(slices.Compact(slices.Clone(owners))) == 1 {
		return owners[0]
	}
	return strings.Join(names, "+")
}
