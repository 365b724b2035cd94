package engine

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/kinform/kinform/internal/engine/machine"
)

// How the machine is told what happened.

// tell has the machine decide, and notes what follows from that alone.
func (r *Reflector) tell(h machine.Happened) machine.Do {
	before := r.known
	var do machine.Do
	r.known, do = machine.Next(before, h)
	if r.known.Brief > before.Brief || h.Ending.BriefLongAgo && r.known.Brief > 0 {
		r.briefAt = time.Now()
	}
	if r.known.Disorders > before.Disorders || h.Ending.Calm {
		r.disorderAt = time.Now()
	}
	switch {
	case do.Trusted:
		r.probedAt = time.Now()
	case do.Doubted:
		r.probedAt = time.Time{}
	}
	if do.Current {
		r.provenAt = time.Now()
		r.status.update(func(s *Status) { s.LastContact = r.provenAt })
	}
	if do.SetAside != machine.NoProof {
		r.setAside(proofErrors[do.SetAside])
	}
	if do.ListOnly {
		r.fallBack()
	}
	if do.Attempts > 0 {
		r.noteDone(do)
	}
	return do
}

// proofErrors say why a snapshot is set aside.
var proofErrors = map[machine.Proof]error{
	machine.Strange: errUnproven, machine.Otherwise: errOtherwise, machine.Diverged: errDiverged,
}

// broke tells that a request has failed.
func (r *Reflector) broke(ctx context.Context, err error) machine.Do {
	r.err = err
	f := failureOf(err)
	if ctx.Err() != nil {
		f = machine.Stop
	}
	return r.tell(machine.Happened{What: machine.Broke, Failure: f})
}

// compare says how a version compares with the one that is held.
func (r *Reflector) compare(v Version) machine.Order {
	switch {
	case v.Before(r.version):
		return machine.Earlier
	case v == r.version:
		return machine.Same
	}
	return machine.Later
}

// show has the status show what is done.
func (r *Reflector) show(do machine.Do) {
	if state, ok := shown[do.Show]; ok {
		r.status.enter(state)
	}
}

var shown = map[machine.Show]State{
	machine.ShowListing: Listing, machine.ShowWatching: Watching, machine.ShowWaiting: Waiting,
	machine.ShowPolling: Polling, machine.ShowAbsent: Absent,
}

// endings are the errors for which we end a request ourselves, and other certain ones.
var endings = []struct {
	err error
	is  machine.Failure
}{
	{ErrRenewed, machine.Renewal},
	{errAsked, machine.Question},
	{errDemanded, machine.Demand},
	{errWentBack, machine.Older},
	{errIncomplete, machine.Gapped},
	{errDisorder, machine.Disordered},
	{errUnconfirmed, machine.Unreached},
	{errOutOfOrder, machine.OutOfOrder},
	{errStalled, machine.Stalled},
}

var failures = map[Reason]machine.Failure{
	Unauthorized: machine.Unauthorized, Forbidden: machine.Forbidden, NoResource: machine.NoResource,
	Refused: machine.Unreachable, TLS: machine.TLS, Throttled: machine.Throttled, Expired: machine.Expired,
	Stalled: machine.TimedOut, Garbled: machine.Garbled, Cut: machine.Cut, ServerError: machine.ServerError,
	Unsupported: machine.Unsupported, Unknown: machine.Unknown,
}

// failureOf says what the machine needs to know of an error.
func failureOf(err error) machine.Failure {
	if err == io.EOF {
		return machine.Ended
	}
	if isExpired(err) {
		return machine.Expired
	}
	for _, e := range endings {
		if errors.Is(err, e.err) {
			return e.is
		}
	}
	if isAhead(err) {
		return machine.Ahead
	}
	return failures[reasonOf(err)]
}
