package kinform

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
	"github.com/kinform/kinform/snapshot"
)

// SnapshotOptions say where an informer keeps what it has read, so that the next start
// need not list it again.
//
// A start from a snapshot is served from disk at once: reads find what the last process
// had (see Informer.Readable), and Status says how old that is. Then the server is asked
// whether it is still the one that the snapshot is of, and the watch resumes where it
// was. HasSynced is true, and handlers are called, only when the server has confirmed
// the state, so that a program which waits for it never acts on what is old. Where the
// server has forgotten the version, or does not prove to be the same, everything is
// listed, and what is unchanged is not replaced.
//
// A snapshot of another server, of other Options or of another format, and one that is
// damaged, is set aside: Status says why, and the start is as without one. A disk that is
// full or cannot be written to shows in Status, and the informer does without.
type SnapshotOptions struct {
	// Dir is the folder. It is made if there is none, and must be of one program and one
	// server; another process that runs at the same time does without a snapshot, and so does
	// another informer of the same objects, until the first one has ended. What is written
	// there, in a folder of its own, can be read by this user only. Default: there
	// is no snapshot.
	Dir string

	// Key seals what is written with AES-256-GCM: 32 random bytes that are kept
	// elsewhere. Default: nothing is sealed, and Secrets are not written.
	Key []byte

	// Every is for how long changes are gathered before they are written: what a process
	// that is killed has not written yet, and the watch of the next one brings again.
	// Default: 1 s.
	Every time.Duration

	// OnlyChanges has handlers that subscribe before Run hear only what has changed since
	// the snapshot was written: Updated or Deleted may come for an object without an
	// Added before. It is for programs that have a memory of their own. Default: as
	// without a snapshot, handlers get an Added for each object, once the server has
	// confirmed it.
	OnlyChanges bool
}

func (o SnapshotOptions) check() error {
	switch {
	case o.Dir == "" && (o.Key != nil || o.OnlyChanges || o.Every != 0):
		return errors.New("Options.Snapshot has no Dir")
	case o.Every < 0 || o.Every > 0 && o.Every < time.Millisecond:
		return fmt.Errorf("Options.Snapshot.Every is %v: it is 0, for the default of 1s, or a millisecond and more", o.Every)
	case len(o.Key) != 0 && len(o.Key) != 32:
		return fmt.Errorf("Options.Snapshot.Key has %d bytes: it needs 32", len(o.Key))
	}
	return nil
}

// String says what two readers of one watch have to agree on.
func (o SnapshotOptions) String() string {
	if o.Dir == "" {
		return "none"
	}
	words := []string{o.Dir}
	if o.Every > 0 && o.Every != time.Second {
		words = append(words, fmt.Sprintf("every %v", o.Every))
	}
	if len(o.Key) > 0 { // of a random key, a few bytes of a hash tell nothing
		sum := sha256.Sum256(o.Key)
		words = append(words, fmt.Sprintf("sealed with key %x", sum[:4]))
	}
	if o.OnlyChanges {
		words = append(words, "only changes")
	}
	return strings.Join(words, ", ")
}

// snapshots returns what opens the snapshot of a namespace of a scope, or nil if there is
// to be none.
func (c *core) snapshots(selected Scope) func(string) (*snapshot.File, error) {
	o := c.options
	if o.Snapshot.Dir == "" {
		return nil
	}
	place := kube.SnapshotPlace{Dir: o.Snapshot.Dir, Key: o.Snapshot.Key}.Own()
	q, form := c.query, c.query.Form()
	if o.DropManagedFields {
		form += kube.FormWithoutManagedFields
	}
	byFields, _ := fields.ParseSelector(selected.FieldSelector) // which was checked
	q.LabelSelector, q.FieldSelector = labelTerms(selected.LabelSelector), byFields.String()
	return func(namespace string) (*snapshot.File, error) {
		q := q
		q.Namespace = namespace
		return place.Open(c.client, q, form)
	}
}

// SnapshotStatus is what became of a snapshot on disk.
type SnapshotStatus struct {
	// Path is the file; "" if there is none.
	Path string
	// Restored is how many objects the run began with, and Seen when the server last
	// confirmed them to the process that wrote them.
	Restored int
	Seen     time.Time
	// Unconfirmed: what is read is what the disk had; the server has not confirmed it
	// yet. It is as of Seen.
	Unconfirmed bool
	// SetAside is why the run did not begin with the snapshot, or why everything had to
	// be listed although it did; nil if neither. The errors of package snapshot tell one
	// reason from the other.
	SetAside error
	// ResourceVersion is what the file has reached, and Size its bytes.
	ResourceVersion string
	Size            int64
	// Failure is why the file is not being written; nil while it is.
	Failure error
}

func snapshotStatus(s engine.SnapshotStatus) SnapshotStatus {
	return SnapshotStatus{
		Path: s.Path, Restored: s.Restored, Seen: s.Seen, Unconfirmed: s.Unconfirmed, SetAside: s.SetAside,
		ResourceVersion: s.Version.String(), Size: s.Size, Failure: s.Failure,
	}
}

// Readable is closed when there is something to read: the first list, or what a snapshot
// had, which may be old; see Options.Snapshot. Without a snapshot it is closed with Synced.
func (inf *Informer[T]) Readable() <-chan struct{} { return inf.core.Readable() }
