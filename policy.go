package kinform

import "fmt"

// Policy says what an informer makes of a refusal: an answer that more tries will
// hardly change. Whatever else fails (the network, the server, what it sends) is
// tried again under every policy.
type Policy uint8

// What to make of a refusal.
const (
	// PolicyKeepTrying takes a refusal for one that passes: rights are granted,
	// resources installed while programs run. It is the default. A resource that may
	// be listed and not watched is listed every 30 s or so; its state is StatePolling.
	PolicyKeepTrying Policy = iota

	// PolicyFailFast ends Run with a *RefusedError when the server does not know who
	// asks (401), does not let him (403), or does not serve the resource (404), at
	// the first list or later; WaitSynced returns at once. It is for programs that
	// are of no use without the resource and shall end with the reason, such as jobs
	// and commands. Servers may refuse for a moment while they start: a program that
	// must survive that keeps trying. A watch that is refused so ends Run as a list
	// does; one that the server cannot do (405, 501) does not, the state is
	// StatePolling then.
	PolicyFailFast

	// PolicyOptional takes a resource that the server does not serve (404) for an
	// empty one: the informer is synced, its state is StateAbsent, and it lists the
	// resource once it appears. When a resource that was served is no more, its
	// objects are delivered as EventDeleted, with FinalStateUnknown, after three such
	// answers in a row. It is for custom resources that may be installed later, or
	// never. Only lists count for that: a resource that can be listed is there.
	PolicyOptional
)

// String returns "keep-trying", "fail-fast" or "optional".
func (p Policy) String() string {
	return nameOf(int64(p), "Policy", "keep-trying", "fail-fast", "optional")
}

// nameOf returns the name of one of a few values, or "Policy(7)" if it is none.
func nameOf(value int64, typ string, names ...string) string {
	if value >= 0 && value < int64(len(names)) {
		return names[value]
	}
	return fmt.Sprintf("%s(%d)", typ, value)
}
