package machine

// Next returns what is known after something happened, and what to do.
func Next(k Known, h Happened) (Known, Do) {
	if h.Failure == Stop && k.Phase != Following && k.Phase != Opening {
		return k.end(Do{})
	}
	switch h.What {
	case Began:
		return k.began(h)
	case Restored:
		k.Unconfirmed = true
		return k, Do{}
	case Succeeded:
		return k.succeeded(h), Do{}
	case Proved:
		return k.proved(h)
	case Prepared:
		return k.prepared(h)
	case Listed:
		return k.listed(h)
	case Stored:
		return k.stored(h)
	case Looked:
		return k.looked(h)
	case Answered:
		return k.answered(h)
	case Opened:
		return k.opened()
	case Received:
		return k.received()
	case CaughtUp:
		return k.caughtUp(h, Do{})
	case Waited:
		return k.waited(h)
	case Searched:
		if h.Kept {
			return k.wait(k.Then, Do{Show: ShowWaiting})
		}
		return k.empty(Do{})
	case Cleared:
		return k.wait(Begin, Do{Show: ShowAbsent})
	}
	return k.broke(h)
}

// broke decides what follows a failure, or the end of a watch.
func (k Known) broke(h Happened) (Known, Do) {
	switch k.Phase {
	case Proving:
		if h.Failure.transient() {
			return k.fail(h.Failure, Prove, Unconfirmed)
		}
		return k.list(Unconfirmed, Do{}) // which has more to say about it
	case Reading:
		return k.notListed(h)
	case Streaming:
		return k.notStreamed(h)
	case Asking, AskingNewest:
		return k.notAnswered(h)
	}
	return k.watchEnded(h)
}

// began decides how a run begins.
func (k Known) began(h Happened) (Known, Do) {
	if k.Phase != Beginning { // another run: what was refused may be allowed now
		k.Refusals = 0
	}
	switch {
	case k.Unconfirmed:
		return k.prove(Do{})
	case h.Held && h.Filled:
		k.Suspect, k.Handed = k.Suspect || !k.Handed, false
		return k.look(Do{})
	case h.Held || k.Plan.Newest:
		return k.list(First, Do{}) // no older than what was stored in other scopes
	case k.Options.Streams && h.Streamable:
		return k.stream()
	}
	return k.list(First, Do{})
}

// succeeded takes over what another reflector knew of the same server.
func (k Known) succeeded(h Happened) Known {
	switch {
	case !h.Certain: // the list has the last word
		k.Plan.Newest, k.Plan.Replaces = true, true
	case h.Covered:
		k.Handed, k.Synced, k.Suspect = true, true, h.Suspicious
	}
	return k
}

// proved decides whether the watch can go on where the disk ends.
func (k Known) proved(h Happened) (Known, Do) {
	switch h.Proof {
	case SameHistory:
		k.Suspect = false
		return k.caughtUp(h, Do{Act: Look, Trusted: true})
	case NothingToAsk:
		return k.renew(Unconfirmed, Do{}) // there is little to list
	}
	return k.renew(Unconfirmed, Do{SetAside: h.Proof})
}

// caughtUp confirms the store once it has what the server had when it was asked. An object
// that should have changed by then, and has not, shows that the history went back.
func (k Known) caughtUp(h Happened, do Do) (Known, Do) {
	switch {
	case !k.Unconfirmed || !h.Reached:
	case h.Unchanged:
		return k.renew(Unconfirmed, Do{SetAside: Diverged, Trusted: do.Trusted})
	default:
		k.Unconfirmed, k.Synced, do.Confirm = false, true, true
		k, do = k.healthy(true, do)
	}
	if do.Act == Look {
		return k.look(do)
	}
	return k, do
}

// prepared decides what to ask for in a list.
func (k Known) prepared(h Happened) (Known, Do) {
	if h.Demanded {
		k.Plan.Newest, k.Plan.Replaces, k.Plan.Hears = true, true, false
	}
	k.At = NotOlder
	switch {
	case k.Plan.Newest:
		k.At = Newest
	case !h.Held && k.Options.FirstNewest:
		k.At = Newest
	case !h.Held:
		k.At = Any
	}
	k.Phase = Reading
	return k, Do{Act: Read, At: k.At, Unpaged: k.Plan.Unpaged, Distrust: k.Plan.Newest || k.Unconfirmed}
}

// notListed decides what follows a list that failed.
func (k Known) notListed(h Happened) (Known, Do) {
	switch f := h.Failure; {
	case f == Renewal:
		return k.renew(Renewed, Do{})
	case f == Expired && k.Options.Paged && !k.Plan.Unpaged:
		// Pages are older than a server remembers by the time that all are read.
		k.Plan.Unpaged, k.Plan.Newest = true, k.Plan.Newest || k.At != Any
		return k.list(Forgotten, Do{})
	case (f == Ahead || f == Expired) && k.At != Newest:
		// What is held cannot be compared with what the server has: ask for that.
		k.Plan.Newest = true
		return k.list(Incomparable, Do{})
	case f == Stalled:
		// A server that is asked for a version that it has not reached may wait for it,
		// for longer than we do, and its history may have gone back.
		k.Plan.Newest = true
	}
	return k.fail(h.Failure, List, Failed)
}

// notStreamed continues with a list if that may help.
func (k Known) notStreamed(h Happened) (Known, Do) {
	switch h.Failure {
	case Unauthorized, Unreachable, TLS, Throttled:
		return k.fail(h.Failure, Stream, First)
	case Forbidden, NoResource:
		return k.list(First, Do{}) // which shows whether that is true of watches alone
	}
	return k.list(First, Do{ListOnly: true})
}

// listed decides whether a list may replace what is stored. One that is older than what
// was asked for proves nothing, unless it is a consistent read: then the history went back.
func (k Known) listed(h Happened) (Known, Do) {
	older := h.Version == Earlier
	if older && k.At != Newest {
		k.Plan.Newest = true
		return k.list(Incomparable, Do{})
	}
	do := Do{Act: Store, NewEpoch: older, Settled: h.Doubtful}
	if k.Phase == Reading {
		do.Overwrite = k.Plan.Replaces || k.Unconfirmed || h.Unsure
		do.Met, do.Exact = true, k.At == Newest
		k.Plan.Unpaged = false
		k.Phase = Storing
	}
	if k.Incomplete++; !h.Gaps {
		k.Incomplete = 0
	}
	k.Plan.Newest, k.Plan.Replaces, k.Suspect, k.Emptied = false, false, false, false
	if h.Doubtful {
		k.Failures = max(k.Failures, 1) // which is overcome now
	}
	do.Confirm, k.Unconfirmed, k.Synced = k.Unconfirmed, false, true
	return k.healthy(true, do)
}

// stored draws the conclusion from a list that was read because watches were silent: if it
// changed the store, they should have brought that.
func (k Known) stored(h Happened) (Known, Do) {
	do := Do{Deafened: k.Plan.Hears && h.Changed && !k.Deaf}
	k.Deaf = k.Deaf || do.Deafened
	k.Mute, k.Plan.Hears = 0, false
	if k.Phase == Streaming {
		return k.opened()
	}
	return k.look(do)
}

// looked decides whether the state has to be proved before a watch is opened.
func (k Known) looked(h Happened) (Known, Do) {
	k.Plan.Hears = k.Deaf && h.Quiet || !k.Deaf && k.Mute >= MuteWatches && h.QuietLong
	switch {
	case k.Plan.Hears:
		return k.list(Silence, Do{})
	case h.Due != None:
		return k.list(h.Due.cause(), Do{})
	case h.Demanded:
		return k.list(Verified, Do{})
	case k.Suspect && h.ProbeOld && h.Comparable && !k.Options.Objects:
		k.Phase = Asking
		return k, Do{Act: AskCache}
	}
	return k.watch(Do{})
}

// answered decides what a server's version says. A cache that has reached ours proves that
// the history is the one we know, as caches are filled from it. One that has not may lag:
// only a consistent read shows that the history went back.
func (k Known) answered(h Happened) (Known, Do) {
	if h.Version == Earlier && k.Phase == Asking {
		k.Phase = AskingNewest
		return k, Do{Act: AskNewest}
	}
	k.Suspect = false
	do := Do{Trusted: true}
	switch h.Version {
	case Earlier:
		k.Plan.Newest = true
		return k.list(WentBack, do)
	case Same:
		k.Mute, do.Current = 0, true
	}
	return k.watch(do)
}

// notAnswered decides what follows a probe that failed.
func (k Known) notAnswered(h Happened) (Known, Do) {
	switch f := h.Failure; {
	case k.Phase == Asking && (f == Ahead || f == Expired || f == Stalled):
		k.Phase = AskingNewest
		return k, Do{Act: AskNewest}
	case k.Failures > 0 && !f.transient():
		return k.fail(f, List, Failed) // it cannot answer that; a list gets past it
	}
	return k.fail(h.Failure, Look, "")
}

// waited goes on after a wait. Who needs more of each object does not have to wait.
func (k Known) waited(h Happened) (Known, Do) {
	if h.Failure == Renewal {
		return k.renew(Renewed, Do{})
	}
	switch k.Then {
	case List:
		return k.list(k.Plan.Cause, Do{})
	case Stream:
		return k.stream()
	case Prove:
		return k.prove(Do{})
	case Begin:
		k.Phase = Beginning
		return k, Do{Act: Begin}
	}
	return k.look(Do{})
}
