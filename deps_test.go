package kinform_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestPackageIsLight: whoever imports kinform gets nothing that only tests, the
// program or the drop-ins need.
func TestPackageIsLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for _, heavy := range []string{
		"k8s.io/client-go/kubernetes",
		"k8s.io/client-go/informers",
		"k8s.io/client-go/tools/cache",
		"k8s.io/api/", // the types that a program uses it brings itself
		"github.com/spf13/",
		"github.com/google/go-cmp",
		"github.com/kinform/kinform/apisim",
		"github.com/kinform/kinform/debug",
		"html/template",
		"testing",
	} {
		for pkg := range strings.FieldsSeq(string(out)) {
			if pkg == strings.TrimSuffix(heavy, "/") || strings.HasPrefix(pkg, strings.TrimSuffix(heavy, "/")+"/") {
				t.Errorf("package kinform imports %s", pkg)
			}
		}
	}
}
