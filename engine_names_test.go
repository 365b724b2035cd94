package kinform

import (
	"testing"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// TestValuesAreTheEngines: values that go to the engine and come from it as they are
// mean the same on both sides.
func TestValuesAreTheEngines(t *testing.T) {
	states := map[State]engine.State{
		StateIdle: engine.Idle, StateListing: engine.Listing, StateWatching: engine.Watching,
		StateWaiting: engine.Waiting, StateStopped: engine.Stopped, StateAbsent: engine.Absent,
		StatePolling: engine.Polling,
	}
	for ours, theirs := range states {
		if engine.State(ours) != theirs {
			t.Errorf("state %d is %s", ours, engine.State(ours))
		}
	}
	if next := engine.State(len(states)); next.String() != "unknown" {
		t.Errorf("the engine has a state %s, which is not here", next)
	}
	reasons := map[Reason]engine.Reason{
		ReasonNone: engine.None, ReasonUnauthorized: engine.Unauthorized, ReasonForbidden: engine.Forbidden,
		ReasonNoResource: engine.NoResource, ReasonUnreachable: engine.Refused, ReasonTLS: engine.TLS,
		ReasonThrottled: engine.Throttled, ReasonExpired: engine.Expired, ReasonStalled: engine.Stalled,
		ReasonGarbled: engine.Garbled, ReasonDisconnected: engine.Cut, ReasonServerError: engine.ServerError,
		ReasonUnsupported: engine.Unsupported, ReasonUnknown: engine.Unknown,
	}
	for ours, theirs := range reasons {
		if engine.Reason(ours) != theirs {
			t.Errorf("reason %q is %q", ours, theirs)
		}
	}
	for ours, theirs := range map[Policy]engine.Policy{
		PolicyKeepTrying: engine.KeepTrying, PolicyFailFast: engine.FailFast, PolicyOptional: engine.Optional,
	} {
		if engine.Policy(ours) != theirs || ours.String() != theirs.String() {
			t.Errorf("policy %s is %s", ours, theirs)
		}
	}
	for ours, theirs := range map[Residency]engine.Residency{
		ResidencyAutomatic: engine.Automatic, ResidencyAlways: engine.AlwaysDecoded, ResidencyNever: engine.NeverDecoded,
	} {
		if engine.Residency(ours) != theirs {
			t.Errorf("residency %s is %d", ours, theirs)
		}
	}
	for ours, theirs := range map[Compression]kube.Compression{
		CompressionFar: kube.CompressFar, CompressionAlways: kube.CompressAlways, CompressionNever: kube.CompressNever,
	} {
		if kube.Compression(ours) != theirs {
			t.Errorf("compression %s is %d", ours, theirs)
		}
	}
	for typ, delta := range map[EventType]engine.Kind{
		EventAdded: engine.Added, EventUpdated: engine.Updated, EventDeleted: engine.Deleted, EventResynced: engine.Resynced,
	} {
		if string(typ) != delta.String() {
			t.Errorf("event %s is %s", typ, delta)
		}
	}
}
