// Package slots finds numbered places: by a key, and by the values of an index. The
// places themselves are pages of values (package pages); nothing here knows what is in
// them.
//
// What may live here: structures over slots. What may not: records, objects, locks.
package slots

import "github.com/kinform/kinform/internal/pages"

// Slot is the place of an object. It stays the same for all states of the object, so
// that an update touches an index only where values changed.
type Slot = pages.Slot
