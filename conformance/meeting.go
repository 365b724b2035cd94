package conformance

import (
	"context"
	"sync"
	"sync/atomic"
)

// meeting is where cases wait for the one act that serves them all: it happens
// when each expected guest either waits for it or has left.
type meeting struct {
	expected sync.WaitGroup
	wanted   atomic.Bool
	over     chan struct{}
	err      error // of the act; readable once over is closed
}

// guest is one case's place at a meeting.
type guest struct {
	meeting *meeting
	arrive  func()
}

func newMeeting(guests int) *meeting {
	m := &meeting{over: make(chan struct{})}
	m.expected.Add(guests)
	return m
}

func (m *meeting) guest() *guest {
	return &guest{meeting: m, arrive: sync.OnceFunc(m.expected.Done)}
}

// hold waits for all guests and acts, unless nobody waits for the act.
func (m *meeting) hold(ctx context.Context, act func(context.Context) error) {
	m.expected.Wait()
	if m.wanted.Load() {
		m.err = act(ctx)
	}
	close(m.over)
}

// attend returns when the act is done.
func (g *guest) attend(ctx context.Context) error {
	g.meeting.wanted.Store(true)
	g.arrive()
	select {
	case <-g.meeting.over:
		return g.meeting.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave makes sure that nobody waits for this guest any longer.
func (g *guest) leave() { g.arrive() }
