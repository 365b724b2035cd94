package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/kinform/kinform/internal/humane"
)

// checkWay is what to do about a server that does not answer.
func (s *server) checkWay() string {
	return fmt.Sprintf("check the way to %s (from %s): network, VPN, proxy", s.config.Host, s.from)
}

// undiscovered is the problem of a context that ended before the server had said what it
// serves.
func undiscovered(ctx context.Context, what string, srv *server) error {
	up := timeUpOf(ctx)
	if up == nil {
		return errInterrupted
	}
	return &problem{
		what:  what,
		why:   fmt.Sprintf("%s has not said %s what it serves", srv.config.Host, up.within()),
		do:    srv.checkWay() + "; or give more time with " + up.flag,
		cause: up,
	}
}

// unread is the problem of the targets that have not synced when the time is up; nil if
// all have, or if ctx ended otherwise.
func unread(ctx context.Context, targets []*target, srv *server) error {
	up := timeUpOf(ctx)
	if up == nil {
		return nil
	}
	var all problems
	for _, t := range targets {
		if !t.inf.HasSynced() {
			all = append(all, t.unread(up, srv))
		}
	}
	return all.err()
}

// unread is what kept a target from its sync until the time was up.
func (t *target) unread(up *timeUp, srv *server) *problem {
	if t.lost != nil {
		return t.lost
	}
	if trouble := t.trouble(); trouble != nil {
		return explain("cannot watch "+t.title(), trouble.Cause, srv)
	}
	if t.inf.HasSynced() {
		return &problem{what: "the watch of " + t.title() + " has not begun " + up.within(), do: "give more time with " + up.flag, cause: up}
	}
	objects, bytes := t.received()
	if objects > 0 || bytes > 0 {
		return &problem{
			what:  t.title() + " has not synced " + up.within(),
			why:   fmt.Sprintf("%s, %s so far", humane.Count(objects, "object"), humane.Size(bytes)),
			do:    "give more time with " + up.flag,
			cause: up,
		}
	}
	return &problem{
		what:  "nothing was read of " + t.title(),
		why:   srv.config.Host + " has not answered " + up.within(),
		do:    srv.checkWay() + "; or give more time with " + up.flag,
		cause: up,
	}
}

// problems are several at once.
type problems []*problem

// err is nil if there are none.
func (ps problems) err() error {
	switch len(ps) {
	case 0:
		return nil
	case 1:
		return ps[0]
	}
	return ps
}

// Error has each problem; what to do about several in a row is said once.
func (ps problems) Error() string {
	var texts []string
	for i, p := range ps {
		text := *p
		if i+1 < len(ps) && ps[i+1].do == p.do {
			text.do = ""
		}
		texts = append(texts, text.Error())
	}
	return strings.Join(texts, "\n")
}

func (ps problems) Unwrap() []error {
	var all []error
	for _, p := range ps {
		all = append(all, p)
	}
	return all
}
