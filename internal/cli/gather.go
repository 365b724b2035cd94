package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kinform/kinform/internal/humane"
)

// gather runs the targets' informers, with progress, until each has what is enough, or
// will not have it; ctx says how long that may take. Then it calls use, while they still
// run. The error is that of use, or the problems of the targets.
func gather(ctx context.Context, s *screen, targets []*target, srv *server, enough func(*target) bool, use func() error) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var informers, waiters, progress sync.WaitGroup
	defer informers.Wait()
	defer stop()
	found := make(problems, len(targets))
	settled := make(chan struct{})
	for i, t := range targets {
		informers.Go(func() { _ = t.inf.Run(running) }) // it was not running
		waiters.Go(func() { found[i] = t.settle(ctx, srv, enough) })
	}
	progress.Go(func() { showGathering(s, targets, settled) })
	waiters.Wait()
	close(settled)
	progress.Wait()
	if ctx.Err() != nil && timeUpOf(ctx) == nil {
		return fmt.Errorf("%w; so far: %s", errInterrupted, gathered(targets))
	}
	if err := use(); err != nil {
		return err
	}
	return slices.DeleteFunc(found, func(p *problem) bool { return p == nil }).err()
}

// gathered is what has come of each target.
func gathered(targets []*target) string {
	var parts []string
	for _, t := range targets {
		parts = append(parts, t.soFar())
	}
	return strings.Join(parts, "; ")
}

// soFar is what has come of a target.
func (t *target) soFar() string {
	objects, bytes := t.received()
	return fmt.Sprintf("%s %s, %s", t.name, humane.Count(objects, "object"), humane.Size(bytes))
}

// showGathering keeps the line of progress current until everything is there.
func showGathering(s *screen, targets []*target, settled <-chan struct{}) {
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		var parts []string
		for _, t := range targets {
			if !t.inf.HasSynced() {
				parts = append(parts, t.soFar())
			}
		}
		if len(parts) > 0 {
			s.setProgress(s.fit("syncing " + strings.Join(parts, "; ")))
		}
		select {
		case <-tick.C:
		case <-settled:
			s.setProgress("")
			return
		}
	}
}

// settle waits until a target has what is enough, or has no hope to.
func (t *target) settle(ctx context.Context, srv *server, enough func(*target) bool) *problem {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		trouble := t.trouble()
		switch {
		case enough(t):
			return nil
		case trouble != nil && hopeless(trouble.Cause):
			return explain("cannot watch "+t.title(), trouble.Cause, srv)
		case timeUpOf(ctx) != nil:
			return t.unread(timeUpOf(ctx), srv)
		case ctx.Err() != nil:
			return nil // interrupted
		}
		select {
		case <-look.C:
		case <-ctx.Done():
		}
	}
}
