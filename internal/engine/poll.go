package engine

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A store that gets no changes must not look current. There are two causes: the server
// refuses watches, or a proxy buffers them. In both cases the resource is listed at an
// interval, the state says so, and watches are still tried.

// errDeaf: watches bring nothing, but a list found changes.
var errDeaf = errors.New("watches bring nothing although the server changes: something between may buffer them")

// hearing is what a reflector knows of watches that bring nothing.
type hearing struct {
	// brought: the watch brought something that the store did not have, or a version that
	// it has reached. What comes again proves nothing.
	brought bool
	// provenAt is when the server last confirmed the state: by a list, an event or a
	// bookmark. That a watch was opened proves nothing.
	provenAt time.Time
}

// isUnsupported: the server cannot do what was asked of it.
func isUnsupported(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsMethodNotSupported(err) || errors.As(err, &status) && status.Status().Code == http.StatusNotImplemented
}

// deafened notes that watches should have brought what a list did.
func (r *Reflector) deafened() {
	err, reason := r.noteFailure(fmt.Errorf("watch %s: %w", r.source, errDeaf), 1, r.options.Poll)
	if r.news(reason) {
		r.collection.log.line("watches bring nothing, and the resource is listed at intervals", "source", r.source.String(),
			"reason", string(reason), "error", err, "interval", r.options.Poll)
	}
	r.status.enter(Polling)
}
