package cli

import (
	"time"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/diff"
)

// change is one change of one object as printers get it: nothing in it is
// secret.
type change struct {
	Time     time.Time
	Kind     kinform.EventType
	Resource string
	Key      string
	// Version is the object's resource version, WasVersion the one before.
	Version, WasVersion string
	// Initial: it was there at the start. Missed: it ended while nobody watched.
	Initial, Missed bool
	// Before and After are its states; Before is nil for Added.
	Before, After map[string]any
	// Managed are the managed fields of both states, which say who wrote them.
	Managed [2]any
	// Fields are what Updated changed.
	Fields []diff.Change
}

// printer makes text of a change, with a newline at its end.
type printer interface {
	text(change) (string, error)
}
