package servers

import (
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func init() { klog.SetLogger(logr.Discard()) }

func TestMatrix(t *testing.T) {
	for _, row := range Rows() {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, err := Play(t.Context(), row)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range r.Cells {
					t.Logf("%-10s synced %-5t equal %-5t took %-12v silent %-8v %s | %s", c.Client, c.Synced, c.Equal, c.Took, c.Silent, c.Difference, c.Status)
					for _, v := range c.Violations {
						t.Log(v)
					}
				}
			})
		})
	}
}
