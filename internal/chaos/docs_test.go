package chaos

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReportIsWritten has two servers' runs share the document, each replacing its
// own section alone.
func TestReportIsWritten(t *testing.T) {
	folder := t.TempDir()
	report := func(server string, writes uint64) {
		t.Helper()
		r := newReport(server, 7)
		r.Time, r.Writes, r.Faults["429"] = time.Hour, writes, 3
		r.Memory = hour(func(time.Duration) int64 { return 100 << 20 })
		if err := r.Write(folder); err != nil {
			t.Fatal(err)
		}
	}
	report("apisim", 1111)
	report("kube-apiserver", 2222)
	report("apisim", 3333)

	text, err := os.ReadFile(filepath.Join(folder, documentName))
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string]int{
		"# Soak\n": 1, "## apisim\n": 1, "## kube-apiserver\n": 1, "| writes | 1111 |": 0, "| writes | 2222 |": 1, "| writes | 3333 |": 1,
		"(soak-apisim.svg)": 1, "| 429 | 3 |": 2, "| not grown |": 8,
	} {
		if got := strings.Count(string(text), part); got != want {
			t.Errorf("%q is there %d times, want %d", part, got, want)
		}
	}
	for _, name := range []string{"soak-apisim.svg", "soak-kube-apiserver.svg"} {
		svg, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(svg, new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Count(string(svg), "<polyline"); got != len(curves) {
			t.Errorf("%s has %d lines, want %d", name, got, len(curves))
		}
	}
}
