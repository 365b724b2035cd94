package machine

// opened notes that a watch is taken up: the last failure is over for now. The count of
// failures is kept until it brings something.
func (k Known) opened() (Known, Do) {
	do := Do{Act: Follow}
	if !k.Deaf {
		if k.Phase == Opening {
			k.Polling, do.Overcome = false, true
		}
		do.Show = ShowWatching
	}
	k.Mute++
	k.Phase = Following
	return k, do
}

// received notes that a watch brought something.
func (k Known) received() (Known, Do) {
	do := Do{}
	k.Mute, k.Refusals = 0, 0
	if k.Deaf {
		k.Deaf, do.Show = false, ShowWatching
		k.Failures = max(k.Failures, 1) // which is overcome now
	}
	return k.healthy(false, do)
}

// healthy notes that the server sent something useful. A list alone proves nothing where
// watches fail.
func (k Known) healthy(listed bool, do Do) (Known, Do) {
	do.Overcome = k.Failures > 0 && !k.Polling
	k.Failures, k.Absent = 0, 0
	if !listed {
		k.Fruitless = 0
	}
	do.Well = k.Fruitless == 0 && !(listed && (k.Polling || k.Deaf))
	return k, do
}

// watchEnded decides what follows a watch, or one that was not opened.
func (k Known) watchEnded(h Happened) (Known, Do) {
	f, e := h.Failure, h.Ending
	switch f {
	case Renewal:
		return k.renew(Renewed, Do{})
	case Question:
		if !e.Wanted {
			return k.look(Do{})
		}
		k.Plan.Newest = true
		return k.list(Awaited, Do{})
	case Demand:
		return k.list(Verified, Do{})
	}
	k = k.countBrief(f, e)
	switch {
	case f == Stop:
		return k.end(Do{})
	case f == Ended && e.Productive:
		// Before its time, it may be the last word of a server that goes down.
		k.Suspect = e.Early
		return k.look(Do{})
	}
	if !e.Productive {
		k.Fruitless++
	}
	switch f {
	case Expired:
		if k.Fruitless > 1 || k.Brief > 2 {
			return k.fail(f, List, Forgotten) // it forgets what it has just listed
		}
		return k.list(Forgotten, Do{})
	case Older:
		return k.wentBack(e)
	case Gapped, Disordered, Unreached:
		return k.list(f.cause(), Do{})
	case OutOfOrder:
		return k.outOfOrder(e)
	case Stalled:
		// Where nothing happens at all, servers have nothing to say. Ask.
		k.Suspect = true
		return k.look(Do{Doubted: true})
	case Forbidden, NoResource, Unsupported:
		return k.poll(f)
	}
	return k.watchFailed(f, e)
}

// watchFailed decides what follows a watch that broke.
func (k Known) watchFailed(f Failure, e Ending) (Known, Do) {
	k.Suspect = true
	if (f == Garbled || f == Unknown) && e.Taken && !e.Lasted {
		k.Brief++ // it may be sent each time, and lists do not end it
	}
	switch f {
	case Garbled, Unknown, ServerError, Ahead, Ended:
		if k.Failures > 0 {
			// It was not the way here: the server itself sends what cannot be read, or
			// nothing, or cannot watch. A list gets past it.
			return k.fail(f, List, Failed)
		}
	}
	return k.fail(f, Look, "")
}

// countBrief counts the watches that the server soon ends with an error, whatever they
// brought: it may do so each time. A watch that lasted and was cut is as good as one that
// ended; that nothing happened in it says nothing against it.
func (k Known) countBrief(f Failure, e Ending) Known {
	if e.BriefLongAgo {
		k.Brief = 0
	}
	switch {
	case e.Said && e.Lasted:
		k.Brief = 0
	case e.Said && (e.Taken || f == Expired): // what was not taken up counts elsewhere
		k.Brief++
	case e.Lasted:
		k.Brief, k.Failures, k.Fruitless = 0, 0, 0
	}
	return k
}

// countDisorder counts surprises without a calm between them.
func (k Known) countDisorder(e Ending) Known {
	if e.Calm {
		k.Disorders = 0
	}
	k.Disorders++
	return k
}

// wentBack asks a server what it has, whose bookmark was older than what is held. If it
// only lags behind another one, or its bookmarks count something else, it is watched, and
// further such bookmarks in the same watch say nothing.
func (k Known) wentBack(e Ending) (Known, Do) {
	k.Suspect, k.Lagging = true, true
	if !k.Options.Objects {
		return k.look(Do{Doubted: true})
	}
	k.Plan.Newest = true
	k = k.countDisorder(e)
	if k.Disorders == 1 {
		return k.list(WentBack, Do{Doubted: true})
	}
	k.Failures++
	k, do := k.failedTimes(k.Disorders-1, Older, List, WentBack)
	do.Doubted = true
	return k, do
}

// outOfOrder lists after an event whose order is not known: at once at first, then ever
// more rarely, as some proxies send such events all the time. Until then the watch goes on
// without that event: one object may be wrong, and the others are not held up.
func (k Known) outOfOrder(e Ending) (Known, Do) {
	k = k.countDisorder(e)
	if k.Disorders == 1 {
		return k.list(Disorder, Do{})
	}
	return k.look(Do{Doubt: true, Times: k.Disorders - 1, Attempts: k.Disorders})
}

// poll waits for the next list after a watch was refused; the list is followed by another
// attempt to watch. Whether the resource is served at all is decided by the list.
func (k Known) poll(f Failure) (Known, Do) {
	k.Refusals++
	do := Do{Polls: true, Show: ShowPolling, Times: max(k.Refusals, k.Brief), Attempts: k.Refusals}
	if k.Options.Policy == FailFast && f.refusal() {
		do.Refused = true
		return k.end(do)
	}
	k.Polling = true
	k.Plan.Cause = Polled
	return k.wait(List, do)
}
