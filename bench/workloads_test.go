package main

import (
	"strings"
	"testing"

	"github.com/kinform/kinform/internal/workloads"
)

// resultOf is a result in which client-go and kinform took so much.
func resultOf(name string, clientGo, kinform workloads.Report) workloadResult {
	r := workloadResult{}
	r.Workload.Name = name
	r.Reports = []workloads.Outcome{
		{Subject: workloads.Subject{Name: workloads.ClientGo}, Report: clientGo},
		{Subject: workloads.Subject{Name: workloads.Native}, Report: kinform},
	}
	return r
}

func TestVerdictOfWorkloads(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name              string
		workload          string
		clientGo, kinform workloads.Report
		want              string // in the verdict
	}{
		{"within the tolerance", "w", workloads.Report{PeakRSS: 100 * mb}, workloads.Report{PeakRSS: 112 * mb}, "nowhere"},
		{"beyond the tolerance", "w", workloads.Report{PeakRSS: 100 * mb}, workloads.Report{PeakRSS: 114 * mb}, "peak RSS 1.14"},
		{"heap and mapped count together", "w", workloads.Report{Live: 100 * mb}, workloads.Report{Live: 60 * mb, LiveMapped: 60 * mb}, "held 1.20"},
		{"less than client-go, more than expected", "rollout", workloads.Report{PeakRSS: 200 * mb}, workloads.Report{PeakRSS: 100 * mb}, "peak RSS 1/2.0 (expected ≤ 1/10.0 and 64 MiB)"},
		{"as expected", "rollout", workloads.Report{PeakRSS: 200 * mb}, workloads.Report{PeakRSS: 80 * mb}, "nowhere"},
		{"failed", "w", workloads.Report{PeakRSS: 100 * mb}, workloads.Report{Failed: "fell over"}, "fell over"},
		{"client-go failed", "w", workloads.Report{Failed: "fell over"}, workloads.Report{PeakRSS: 100 * mb}, "client-go failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := resultOf(c.workload, c.clientGo, c.kinform)
			if got := r.verdict(r.Reports[1]); !strings.Contains(got, c.want) {
				t.Errorf("the verdict is %q, want %q in it", got, c.want)
			}
		})
	}
}

// TestUnexplainedFails: a reason is what makes a worse cell pass.
func TestUnexplainedFails(t *testing.T) {
	m := matrixReport{done: []workloadResult{resultOf("w", workloads.Report{CPU: 1}, workloads.Report{CPU: 3})}}
	if got := m.unexplained(); len(got) != 1 || !strings.Contains(got[0], "CPU 3.00") {
		t.Errorf("unexplained: %q", got)
	}
	key := [2]string{"w", "CPU"}
	reasons[key] = "it is a test"
	defer delete(reasons, key)
	if got := m.unexplained(); got != nil {
		t.Errorf("with a reason: %q", got)
	}
	if text := m.text(); !strings.Contains(text, "**It is a test.**\n\n- w, kinform: CPU 3.00\n") {
		t.Errorf("the document does not have the reason:\n%s", text)
	}
}
