package workloads

import (
	"context"
	"fmt"
)

// Request is a run in words that another process understands.
type Request struct {
	Workload string // its name
	Objects  int    // instead of the workload's, if not 0
	Use      *Use   // instead of the workload's, if not nil
	Options  Options
}

// Run does what is asked for.
func (r Request) Run(ctx context.Context) (Result, error) {
	for _, w := range All() {
		if w.Name != r.Workload {
			continue
		}
		if r.Objects > 0 {
			w.Objects = r.Objects
		}
		if r.Use != nil {
			w.Use = *r.Use
		}
		return Run(ctx, w, r.Options)
	}
	return Result{}, fmt.Errorf("there is no workload %q", r.Workload)
}
