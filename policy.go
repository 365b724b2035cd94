package kinform

import "github.com/kinform/kinform/engine"

// Policy says what an informer makes of a refusal: an answer that more tries will
// hardly change. Whatever else fails (the network, the server, what it sends) is
// tried again under every policy.
type Policy = engine.Policy

// What to make of a refusal.
const (
	// KeepTrying takes a refusal for one that passes: rights are granted, resources
	// installed while programs run. It is the default. A resource that may be listed
	// and not watched is listed every 30 s or so; its State is Polling.
	KeepTrying = engine.KeepTrying

	// FailFast ends Run with a *RefusedError when the server does not know who asks
	// (401), does not let him (403), or does not serve the resource (404), at the
	// first list or later; WaitSynced returns at once. It is for programs that are
	// of no use without the resource and shall end with the reason, such as jobs and
	// commands. Servers may refuse for a moment while they start: a program that
	// must survive that keeps trying. A watch that is refused so ends Run as a list
	// does; one that the server cannot do (405, 501) does not, the State is Polling
	// then.
	FailFast = engine.FailFast

	// Optional takes a resource that the server does not serve (404) for an empty
	// one: the informer is synced, its State is Absent, and it lists the resource
	// once it appears. When a resource that was served is no more, its objects are
	// told as Deleted, with FinalStateUnknown, after three such answers in a row. It
	// is for custom resources that may be installed later, or never. Only lists
	// count for that: a resource that can be listed is there.
	Optional = engine.Optional
)

// RefusedError is what ends Run under the policy FailFast. It wraps the server's
// answer, for apierrors.IsForbidden and the like.
type RefusedError = engine.RefusedError

// ErrRefused says that an informer has ended because the server refused it.
var ErrRefused = engine.ErrRefused
