package machine

// transient reports whether a request failed for what the next one may not fail for,
// whatever it asks.
func (f Failure) transient() bool {
	switch f {
	case Unauthorized, Unreachable, TLS, Throttled, Stalled, TimedOut, Cut, Ended:
		return true
	}
	return false
}

// refusal reports whether trying again is unlikely to help.
func (f Failure) refusal() bool { return f == Unauthorized || f == Forbidden || f == NoResource }

// cause is that of the list which is due for a reason.
func (f Failure) cause() Cause {
	switch f {
	case Gapped:
		return Incomplete
	case Unreached:
		return Unconfirmed
	}
	return Disorder
}

// fail counts a failure, waits, and goes on.
func (k Known) fail(f Failure, then Act, cause Cause) (Known, Do) {
	k.Failures++
	return k.failedTimes(max(k.Failures, k.Fruitless, k.Brief), f, then, cause)
}

// failedTimes is fail for what has failed a number of times.
func (k Known) failedTimes(times int, f Failure, then Act, cause Cause) (Known, Do) {
	k.Polling, k.Deaf, k.Plan.Hears = false, false, false
	if then == List {
		k.Plan.Cause = cause
	}
	do := Do{Times: times, Attempts: max(k.Failures, 1), Show: ShowWaiting}
	if f != NoResource {
		k.Absent = 0
	}
	switch p := k.Options.Policy; {
	case p == FailFast && f.refusal():
		do.Refused = true
		return k.end(do)
	case f == NoResource && (p == Optional || k.Synced):
		return k.notFound(then, do)
	}
	return k.wait(then, do)
}

// notFound decides what a resource counts as that the server does not know. One that was
// never there is empty, if it is optional. What was read is kept, unless the server proves
// that it has gone: a proxy may answer with 404, and another version may still be served.
func (k Known) notFound(then Act, do Do) (Known, Do) {
	k.Absent++
	switch {
	case k.Emptied:
		do.Show = ShowAbsent
		return k.wait(Begin, do)
	case !k.Synced:
		return k.empty(do)
	case k.Absent >= AbsentAnswers && k.Options.Discovers:
		k.Then, k.Phase = then, Searching
		do.Act = Search
		return k, do
	}
	return k.wait(then, do)
}

// empty has the store emptied.
func (k Known) empty(do Do) (Known, Do) {
	do.Act, do.Show, do.Confirm = Empty, AsBefore, k.Unconfirmed
	k.Phase = Emptying
	k.Plan.Newest, k.Suspect, k.Incomplete = false, false, 0
	k.Emptied, k.Synced, k.Unconfirmed = true, true, false
	return k, do
}

// renew lists what there is more of now, or what is to replace everything. That the list
// differs from the store says nothing of the watches before it.
func (k Known) renew(c Cause, do Do) (Known, Do) {
	k.Plan.Newest, k.Plan.Replaces, k.Plan.Hears = true, true, false
	return k.list(c, do)
}

func (k Known) list(c Cause, do Do) (Known, Do) {
	k.Phase, k.Plan.Cause = Preparing, c
	do.Act, do.Cause = List, c
	switch {
	case k.Deaf:
		do.Show = ShowPolling
	case !k.Polling:
		do.Show = ShowListing
	}
	return k, do
}

func (k Known) stream() (Known, Do) {
	k.Phase, k.At = Streaming, Any
	do := Do{Act: Stream, Show: ShowListing, Reconnect: k.Suspect || k.Failures > 0}
	k.Tolerant, k.Lagging = k.Lagging, false
	return k, do
}

func (k Known) prove(do Do) (Known, Do) {
	k.Phase = Proving
	do.Act, do.Show = Prove, ShowListing
	return k, do
}

func (k Known) look(do Do) (Known, Do) {
	k.Phase = Looking
	do.Act = Look
	return k, do
}

func (k Known) watch(do Do) (Known, Do) {
	k.Phase = Opening
	do.Act, do.Short, do.Reconnect = Watch, k.Unconfirmed, k.Suspect || k.Failures > 0
	k.Tolerant, k.Lagging = k.Lagging, false
	return k, do
}

func (k Known) wait(then Act, do Do) (Known, Do) {
	k.Phase, k.Then = Waiting, then
	do.Act = Wait
	return k, do
}

func (k Known) end(do Do) (Known, Do) {
	k.Phase = Over
	do.Act = End
	return k, do
}
