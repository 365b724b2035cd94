package engine

import "time"

// Moment is a state that a reflector entered.
type Moment struct {
	At     time.Time
	State  State
	Reason Reason
	// Cause says why, while something fails. It is cut where it is long, and empty where
	// it might quote an object.
	Cause string
	// Times is how often the same failure came in a row, and Last when it last did.
	Times int
	Last  time.Time
}

// How many moments a reflector remembers, and how much of each cause, in bytes.
const (
	longestHistory = 32
	longestCause   = 512
)

// history is what a reflector did lately, the oldest first.
type history struct{ moments []Moment }

// note adds what a status has become, if that is worth a moment.
func (h *history) note(s Status, now time.Time) {
	m := Moment{At: now, State: s.State, Reason: s.Reason, Cause: shortCause(s), Times: 1, Last: now}
	n := len(h.moments)
	switch {
	case n > 0 && h.moments[n-1].State == s.State && s.Reason == None:
		h.moments[n-1].Reason, h.moments[n-1].Cause = None, "" // it is overcome
		return
	case n > 0 && h.moments[n-1].State == s.State && (s.State == Listing || s.State == Watching):
		return // it failed, and goes on to wait
	case h.again(m):
		return
	case n == longestHistory:
		h.moments = append(h.moments[:0], h.moments[1:]...)
	}
	h.moments = append(h.moments, m)
}

// again counts a failure that was tried again and came again. It is one moment, or a
// server that is away for an hour would leave nothing else.
func (h *history) again(m Moment) bool {
	n := len(h.moments)
	if n < 2 || m.State != Waiting || h.moments[n-1].Reason == None {
		return false
	}
	before := &h.moments[n-2]
	if before.State != Waiting || before.Reason != m.Reason {
		return false
	}
	before.Times, before.Last, before.Cause = before.Times+1, m.At, m.Cause
	h.moments = h.moments[:n-1]
	return true
}

func shortCause(s Status) string {
	if s.Cause == nil || s.Reason == Garbled {
		return ""
	}
	text := s.Cause.Error()
	return text[:min(len(text), longestCause)]
}

// History returns the states that the reflector entered lately, the oldest first.
func (r *Reflector) History() []Moment {
	r.status.mu.Lock()
	defer r.status.mu.Unlock()
	return append([]Moment(nil), r.status.past.moments...)
}

// History returns those of all reflectors, in the order of Status.
func (inf *Informer) History() [][]Moment {
	var all [][]Moment
	for _, r := range inf.all() {
		all = append(all, r.History())
	}
	return all
}
