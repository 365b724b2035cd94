package kinform

import "fmt"

// Policy says how an informer treats a refusal: an answer that retrying is unlikely
// to change. All other failures (the network, the server, bad data) are retried
// under every policy.
type Policy uint8

// How to treat a refusal.
const (
	// PolicyKeepTrying treats a refusal as temporary: permissions are granted and
	// resources installed while programs run. It is the default. A resource that may
	// be listed but not watched is listed every 30 s or so; its state is StatePolling.
	//
	// A resource that was in the cache and is not found any more stays in the cache, and
	// Status says why: a 404 may be that of a proxy, or the definition may no longer be
	// served in this version while its objects live on in another. If the server proves
	// that the resource has gone for good, its objects are delivered as EventDeleted, with
	// FinalStateUnknown, and the state is StateAbsent until it is served again. The proof
	// is that discovery has the resource in no version of its group, and that the server
	// has no CustomResourceDefinition of that name; a client that may not read
	// CustomResourceDefinitions keeps what it has.
	PolicyKeepTrying Policy = iota

	// PolicyFailFast ends Run with a *RefusedError when the client is not
	// authenticated (401) or not allowed (403), or the server does not serve the
	// resource (404), at the first list or later; WaitSynced returns at once. It is
	// for programs that are useless without the resource and should exit with the
	// reason, such as jobs and commands. Servers may refuse briefly while they start:
	// a program that must survive that uses PolicyKeepTrying. A watch that is refused
	// like this ends Run as a list does. A watch that the server does not support
	// (405, 501) does not; the state is StatePolling then.
	PolicyFailFast

	// PolicyOptional treats a resource that the server does not serve (404) as empty:
	// the informer is synced, its state is StateAbsent, and it lists the resource
	// once it appears. A resource that was there and is not found any more is treated as
	// with PolicyKeepTrying. It is for custom resources that may be installed later, or
	// never. Only lists count for this: a resource that can be listed exists.
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
