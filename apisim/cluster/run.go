package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// shortestTick bounds how often Run wakes up; at higher rates it makes
	// several changes a tick.
	shortestTick = 5 * time.Millisecond
	// patience is how many failures in a row Run bears, a little longer
	// apart each time: about a minute.
	patience = 40
)

// Run makes changes at Options.Rate until ctx ends, and returns what was written
// since New. It is not an error that ctx ends. A server that fails or is not
// reached is tried again for about a minute. When Run returns, nothing of it is
// left running.
func (c *Cluster) Run(ctx context.Context) (Totals, error) {
	ctx, cancel := context.WithCancel(ctx)
	var followers sync.WaitGroup
	defer followers.Wait()
	defer cancel()
	requests, cut := unhurried(ctx, time.Second/2)
	defer cut()
	for _, kind := range slices.Sorted(maps.Keys(followed)) {
		followers.Go(func() { c.follow(ctx, requests, kind) })
	}
	err := c.work(ctx, requests)
	if ctx.Err() != nil {
		err = nil
	}
	return c.Totals(), err
}

// unhurried returns the context of requests, which ends a moment after ctx: what
// is under way is finished rather than cut.
func unhurried(ctx context.Context, moment time.Duration) (context.Context, context.CancelFunc) {
	requests, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(moment, cancel) })
	return requests, func() { stop(); cancel() }
}

// work steps with the clock until ctx ends.
func (c *Cluster) work(ctx, requests context.Context) error {
	ticker := time.NewTicker(max(time.Duration(float64(time.Second)/c.opts.Rate), shortestTick))
	defer ticker.Stop()
	var due float64
	last, failures := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		now := time.Now()
		// What could not be done in a second is not made up for.
		due = min(due+now.Sub(last).Seconds()*c.opts.Rate, c.opts.Rate+1)
		last = now
		for ; due >= 1; due-- {
			err := c.findNodes(requests)
			if err == nil {
				err = c.step(requests)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil {
				failures = 0
				continue
			}
			if failures++; failures > patience {
				return fmt.Errorf("make changes: %d failures in a row, the last: %w", failures, err)
			}
			if err := pause(ctx, time.Duration(failures)*75*time.Millisecond); err != nil {
				return err
			}
		}
	}
}

// pause waits, or returns the reason why ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
