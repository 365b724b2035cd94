package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/diff"
	"github.com/kinform/kinform/internal/humane"
	"github.com/kinform/kinform/internal/redact"
)

// session watches targets and shows what happens to their objects.
type session struct {
	screen  *screen
	printer printer
	server  *server
	targets []*target
	initial bool // show each object that is there at the start, too
	live    bool // keep a line with totals on the terminal
	// optional means that nobody asked for these targets: one that is refused is left out.
	optional bool
	// observe, if set, is called for every event.
	observe func(t *target, kind kinform.EventType, key, version string)
	// panel, if set, is what stands below everything else on a terminal, written anew
	// each second.
	panel func() []string
	// report, if set, is called at the end, before the summary, unless the time is up and
	// nothing was read.
	report func() error
	// finish, if set, is called instead of both, while the informers still run.
	finish func(context.Context) error

	began   time.Time
	ended   time.Time // set when it has ended
	totals  totals
	fail    context.CancelCauseFunc // ends the session with an error
	leaving sync.Mutex              // held while a target is given up
}

// run shows changes until ctx ends, which is a good end, or until nothing is left
// that works. It returns when everything that it started has ended.
func (s *session) run(ctx context.Context) error {
	s.began = time.Now()
	ctx, s.fail = context.WithCancelCause(ctx)
	defer s.fail(nil)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	for _, t := range s.targets {
		t.run, t.end = context.WithCancelCause(running)
		t.sub = t.inf.Subscribe(s.handler(t), kinform.SubscribeOptions{Name: "screen"})
	}
	var informers, helpers sync.WaitGroup
	for _, t := range s.targets {
		informers.Go(func() { _ = t.inf.Run(t.run) }) // it was not running
		helpers.Go(func() { s.attend(ctx, t) })
	}
	if s.screen.live {
		helpers.Go(func() { s.showProgress(ctx) })
	}
	if s.panel != nil && s.screen.wide {
		helpers.Go(func() { s.showPanel(ctx) })
	}
	<-ctx.Done()
	s.ended = time.Now()
	helpers.Wait()
	s.screen.setProgress("")
	s.screen.setPanel(nil)
	err := context.Cause(ctx)
	if !isProblem(err) {
		err = s.end(ctx, running)
	}
	stop()
	informers.Wait()
	return err
}

func isProblem(err error) bool {
	var p *problem
	return errors.As(err, &p)
}

// end does what is left to do when a session was ended from outside, by ctx. If it had
// its time and something was not read by then, that is a problem.
func (s *session) end(ctx, running context.Context) error {
	if s.finish != nil {
		return s.finish(running)
	}
	if h := holdingsOf(s.targets); s.report != nil && (timeUpOf(ctx) == nil || len(h.waiting) < len(s.targets)) {
		if err := s.report(); err != nil {
			return err
		}
	}
	s.screen.note(s.summary())
	return unread(ctx, slices.DeleteFunc(slices.Clone(s.targets), s.excused), s.server)
}

// excused reports whether nobody asked for a target that was given up.
func (s *session) excused(t *target) bool { return s.optional && t.lost != nil }

// handler counts a target's events and shows them.
func (s *session) handler(t *target) func(context.Context, kinform.Event[*unstructured.Unstructured]) {
	return func(_ context.Context, ev kinform.Event[*unstructured.Unstructured]) {
		s.totals.count(ev.Type, ev.Initial())
		if s.observe != nil {
			defer s.observe(t, ev.Type, ev.Key, ev.ResourceVersion())
		}
		if ev.Initial() && !s.initial {
			return
		}
		after, err := ev.New()
		var before *unstructured.Unstructured
		if err == nil {
			before, err = ev.Old()
		}
		if err != nil {
			s.screen.note(printable(fmt.Sprintf("%s %s was %s, but cannot be read: %v", t.name, ev.Key, ev.Type, err)))
			return
		}
		text, err := s.printer.text(newChange(t, ev, before, after))
		if err == nil && text != "" {
			err = s.screen.print(text)
		}
		if err != nil {
			s.fail(unwritten(err))
		}
	}
}

// unwritten is the problem of output that cannot be written.
func unwritten(err error) error {
	return &problem{what: "cannot write the output", why: innermost(err), cause: err}
}

// newChange makes what printers get of an event.
func newChange(t *target, ev kinform.Event[*unstructured.Unstructured], before, after *unstructured.Unstructured) change {
	c := change{
		Time: time.Now(), Kind: ev.Type, Resource: t.name, Key: printable(ev.Key), Version: ev.ResourceVersion(),
		Initial: ev.Initial(), Missed: ev.FinalStateUnknown(), After: after.Object,
	}
	if before != nil {
		c.Before, c.WasVersion = before.Object, before.GetResourceVersion()
		c.Managed[0], _, _ = unstructured.NestedFieldNoCopy(before.Object, "metadata", "managedFields")
	}
	c.Managed[1], _, _ = unstructured.NestedFieldNoCopy(after.Object, "metadata", "managedFields")
	if t.secret || redact.IsSecret(after.Object) {
		c.Before, c.After = redact.Secrets(c.Before, c.After)
	}
	if ev.Type == kinform.EventUpdated {
		c.Fields = diff.Compare(c.Before, c.After)
	}
	return c
}

// attend reports when a target has synced, and what keeps it from its server.
func (s *session) attend(ctx context.Context, t *target) {
	synced := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() {
		if t.sub.WaitSynced(wait) == nil {
			close(synced)
		}
	})
	var reported kinform.Reason
	for {
		select {
		case <-synced:
			st := t.inf.Status()
			s.screen.note(fmt.Sprintf("watching %s: %s, %s held in %s, synced in %s", t.title(),
				humane.Count(st.Objects, "object"), humane.Size(st.Bytes), humane.Size(st.Packed), short(time.Since(s.began))))
			synced = nil
		case <-t.alarm:
			trouble := t.trouble()
			if trouble != nil && synced != nil && hopeless(trouble.Cause) {
				s.giveUp(t, trouble.Cause)
				return
			}
			reported = s.reportTrouble(t, trouble, reported)
		case <-ctx.Done():
			return
		}
	}
}

// reportTrouble says what has changed about a target's trouble, and returns what it is
// now.
func (s *session) reportTrouble(t *target, trouble *kinform.SourceStatus, reported kinform.Reason) kinform.Reason {
	switch {
	case trouble != nil && trouble.Reason == kinform.ReasonExpired:
		return reported // it is listed again, as it should
	case trouble != nil && trouble.Reason != reported:
		s.screen.note(fmt.Sprintf("%s: %s; trying again", t.title(), printable(reason(trouble.Cause))))
		return trouble.Reason
	case trouble == nil && reported != "":
		s.screen.note(t.title() + ": in touch with the server again")
		return ""
	}
	return reported
}

// giveUp leaves a target out. When it was the last one, the session fails.
func (s *session) giveUp(t *target, cause error) {
	p := explain("cannot watch "+t.title(), cause, s.server)
	s.leaving.Lock()
	defer s.leaving.Unlock()
	t.lost = p
	t.end(p)
	working := 0
	for _, other := range s.targets {
		if other.run.Err() == nil {
			working++
		}
	}
	if working == 0 {
		s.fail(s.allFailed(p))
		return
	}
	s.screen.note(p.Error())
}

// allFailed is the problem of a session in which nothing works: that of the last
// target; the others have been reported.
func (s *session) allFailed(last *problem) error {
	if len(s.targets) > 1 {
		last.do = strings.TrimPrefix(last.do+"; nothing else is left to watch", "; ")
	}
	return last
}
