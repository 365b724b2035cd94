package servers

import (
	"flag"
	"os"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

var update = flag.Bool("update", false, "write docs/evidence/servers.md again")

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	// One of client-go's handlers of errors sleeps until a moment after the last error
	// of the process, which another bubble may have had on a clock of its own.
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// TestMatrix plays every row. docs/evidence/servers.md is what came of it.
func TestMatrix(t *testing.T) {
	rows := Rows()
	results := make([]*Result, len(rows))
	t.Run("row", func(t *testing.T) {
		for i, row := range rows {
			t.Run(row.Name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var err error
					if results[i], err = Play(t.Context(), row); err != nil {
						t.Fatal(err)
					}
					for _, c := range results[i].Cells {
						t.Logf("%s: %s, after %v", c.Client, c, c.Took)
					}
					for _, fault := range results[i].Faults() {
						t.Error(fault)
					}
				})
			})
		}
	})
	for _, r := range results {
		if r == nil {
			return // it was not asked for, or has failed
		}
	}
	const file = "../../docs/evidence/servers.md"
	got := Table(results)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is not what happens; go test ./internal/servers -run %s -update writes it again. What happens:\n%s", file, t.Name(), got)
	}
}
