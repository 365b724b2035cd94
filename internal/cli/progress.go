package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kinform/kinform/internal/humane"
)

// refresh is how often the line of progress is written again.
const refresh = 100 * time.Millisecond

// showProgress keeps the line of progress current: how far each list is, and
// after that the totals, if they are wanted.
func (s *session) showProgress(ctx context.Context) {
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		line := s.syncing()
		switch {
		case line == "" && s.live:
			line = s.living()
		case line == "":
			s.screen.setProgress("")
			return
		}
		s.screen.setProgress(line)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// syncing says how far the lists are; "" when all are done.
func (s *session) syncing() string {
	var parts []string
	for _, t := range s.targets {
		if t.sub.HasSynced() || t.run.Err() != nil {
			continue
		}
		parts = append(parts, t.soFar())
	}
	if len(parts) == 0 {
		return ""
	}
	return s.screen.fit("syncing " + strings.Join(parts, "; "))
}

// living gives the totals so far.
func (s *session) living() string {
	h := holdingsOf(s.targets)
	return s.screen.fit(fmt.Sprintf("%s held in %s; %s (%s) in %s", humane.Count(h.objects, "object"), humane.Size(h.packed),
		humane.Count(s.totals.events(), "event"), s.totals.byKind(), time.Since(s.began).Truncate(time.Second)))
}

// showPanel writes the panel anew each second, once anything is synced.
func (s *session) showPanel(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if slices.ContainsFunc(s.targets, func(t *target) bool { return t.sub.HasSynced() }) {
			s.screen.setPanel(s.panel())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
