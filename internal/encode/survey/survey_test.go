package survey_test

import (
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinform/kinform/internal/encode/survey"
	"github.com/kinform/kinform/wire"
)

var update = flag.Bool("update", false, "write docs/evidence/objects.md again")

// TestKindsOfClientGo: every kind of client-go's that has metadata survives as a server
// sends it.
func TestKindsOfClientGo(t *testing.T) {
	named := reflect.TypeFor[metav1.Object]()
	kinds, types := map[string][]string{}, map[reflect.Type]bool{}
	random, of := 0, 0
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || !reflect.PointerTo(typ).Implements(named) {
			continue
		}
		types[typ] = true
		group, _, _ := strings.Cut(gvk.Group, ".")
		name := strings.TrimPrefix(fmt.Sprintf("%s/%s.%s", group, gvk.Version, gvk.Kind), "/")
		for _, via := range []wire.Format{wire.Protobuf, wire.JSON} {
			r := survey.Try(name, typ, 24, via)
			if r.Sent < r.Of || r.Of == 0 || r.Changed {
				t.Errorf("%s: %s of %d, changed %t: %s", name, r.Verdict(), r.Of, r.Changed, r.Why)
			}
			how := fmt.Sprintf("%s | %s | %s", via, r.Verdict(), r.Held)
			kinds[how] = append(kinds[how], name)
			random, of = random+r.Random, of+r.Of
		}
	}
	if len(types) < 100 {
		t.Fatalf("the scheme has only %d types with metadata", len(types))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d types have metadata. Of %d random objects that no server has sent, %d survive.\n\n", len(types), of, random)
	b.WriteString("| Come in | Survive | Held as | Kinds |\n|---|---|---|---|\n")
	for _, how := range slices.Sorted(maps.Keys(kinds)) {
		slices.Sort(kinds[how])
		list := strings.Join(kinds[how], ", ")
		if len(kinds[how]) == len(types) {
			list = "all"
		}
		fmt.Fprintf(&b, "| %s | %d: %s |\n", how, len(kinds[how]), list)
	}
	if err := survey.Section("../../..", "client-go", b.String(), *update); err != nil {
		t.Error(err)
	}
}
