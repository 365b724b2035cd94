package check

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func keyOf(obj metav1.Object) string {
	if ns := obj.GetNamespace(); ns != "" {
		return ns + "/" + obj.GetName()
	}
	return obj.GetName()
}

// number is a version as a number, 0 where it is none.
func number(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func sameVersion(a, b metav1.Object) bool {
	return a.GetResourceVersion() == b.GetResourceVersion() && a.GetUID() == b.GetUID()
}

func versionOf(obj metav1.Object) string {
	if obj == nil || reflect.ValueOf(obj).IsNil() {
		return "nothing"
	}
	return fmt.Sprintf("@%s of uid %s", obj.GetResourceVersion(), obj.GetUID())
}

// sameFields compares all fields but kind and API version.
func sameFields(have, server metav1.Object) bool {
	h, ok1 := have.(runtime.Object)
	s, ok2 := server.(runtime.Object)
	if ok1 && ok2 {
		s.GetObjectKind().SetGroupVersionKind(h.GetObjectKind().GroupVersionKind())
	}
	return equality.Semantic.DeepEqual(have, server)
}

// differentFields names the fields that differ, and not what is in them.
func differentFields(a, b metav1.Object) string {
	ma, err := runtime.DefaultUnstructuredConverter.ToUnstructured(a)
	if err != nil {
		return "unknown fields"
	}
	mb, err := runtime.DefaultUnstructuredConverter.ToUnstructured(b)
	if err != nil {
		return "unknown fields"
	}
	var paths []string
	compareFields(&paths, "", ma, mb)
	slices.Sort(paths)
	const most = 8
	if len(paths) > most {
		paths = append(paths[:most], fmt.Sprintf("and %d more", len(paths)-most))
	}
	return strings.Join(paths, ", ")
}

func compareFields(paths *[]string, path string, a, b any) {
	ma, ok1 := a.(map[string]any)
	mb, ok2 := b.(map[string]any)
	if !ok1 || !ok2 {
		if !equality.Semantic.DeepEqual(a, b) {
			*paths = append(*paths, strings.TrimPrefix(path, "."))
		}
		return
	}
	for k := range ma {
		compareFields(paths, path+"."+k, ma[k], mb[k])
	}
	for k := range mb {
		if _, ok := ma[k]; !ok {
			*paths = append(*paths, strings.TrimPrefix(path+"."+k, "."))
		}
	}
}
