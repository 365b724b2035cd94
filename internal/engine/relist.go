package engine

import "time"

// disorderPause is how soon after a list another one may follow because a watch sent
// states from before it: such servers may end watches as fast as they begin.
const disorderPause = 10 * time.Second

// relistIn returns when the next watch is to end for a list, and why, if it is. Where
// the last watch brought states from before the last list, or the list had no version,
// versions do not say what happened between two watches; a list does.
func (r *Reflector) relistIn() (in time.Duration, why error) {
	since := time.Since(r.listedAt)
	switch {
	case !r.settleAt.IsZero():
		in, why = time.Until(r.settleAt), errDisorder
	case r.order.disordered:
		in, why = disorderPause-since, errDisorder
	}
	if r.known.Incomplete > 0 { // counted from the list: watches may never last that long
		again := 10*r.options.Backoff.delay(r.known.Incomplete, nil) - since
		if why == nil || again < in {
			in, why = again, errIncomplete
		}
	}
	return r.unconfirmedFor(in, why)
}

// renewed is closed while the source has more than what was asked for.
func (r *Reflector) renewed() <-chan struct{} {
	if s, ok := r.source.(Renewing); ok {
		return s.Renewed()
	}
	return nil
}
