package describe

import "time"

// Description is an informer's whole running configuration and state, as of one
// moment. What does not apply to an informer is left empty.
type Description struct {
	// At is when it was described.
	At time.Time `json:"at"`
	// Engine is the number of what lists, watches and stores: informers that share one have
	// the same.
	Engine uint64 `json:"engine,omitempty"`
	// Informer is what kind of informer it is.
	Informer string `json:"informer"`
	// ObjectType is the Go type of the objects.
	ObjectType string `json:"objectType"`
	// Views are all types in which the store is read, if it is more than one.
	Views []string `json:"views,omitempty"`

	Source Source `json:"source"`
	// Queue is what lies between the source and the handlers.
	Queue    string    `json:"queue,omitempty"`
	Resync   Resync    `json:"resync"`
	Store    Store     `json:"store"`
	Sharing  *Sharing  `json:"sharing,omitempty"`
	Handlers []Handler `json:"handlers"`
	Status   Status    `json:"status"`
}

// Source is where the objects come from, and how they are asked for.
type Source struct {
	// Name is what messages call it.
	Name string `json:"name"`
	// Via is what is asked: the server for bytes, or somebody for objects.
	Via string `json:"via,omitempty"`
	// Resource is "statefulsets.v1.apps".
	Resource string `json:"resource,omitempty"`
	// Namespaces that are listed and watched; none means all.
	Namespaces    []string `json:"namespaces,omitempty"`
	LabelSelector string   `json:"labelSelector,omitempty"`
	FieldSelector string   `json:"fieldSelector,omitempty"`
	// Tweak is the function that changes each request's options last.
	Tweak string `json:"tweak,omitempty"`
	// Encoding is what the server is asked for.
	Encoding     string `json:"encoding,omitempty"`
	MetadataOnly bool   `json:"metadataOnly,omitempty"`
	// Compression is when the server is asked to compress lists: "far", "always" or
	// "never".
	Compression string `json:"compression,omitempty"`
	// List is how the whole set is read.
	List string `json:"list,omitempty"`
	// FromCache: the first list is what the server's cache has.
	FromCache bool  `json:"fromCache,omitempty"`
	PageSize  int64 `json:"pageSize,omitempty"`
	// MaxObjectSize in bytes; 0 is the default.
	MaxObjectSize     int64    `json:"maxObjectSize,omitempty"`
	DropManagedFields bool     `json:"dropManagedFields,omitempty"`
	Silence           Duration `json:"silence,omitempty"`
	Backoff           *Backoff `json:"backoff,omitempty"`
	// Policy is what a refusal of the server means.
	Policy string `json:"policy,omitempty"`
	// ErrorHandler is the function that is called for failed lists and watches; "" is
	// the default one.
	ErrorHandler string `json:"errorHandler,omitempty"`
}

// Backoff is the least and the most that is waited after failures.
type Backoff struct {
	First Duration `json:"first"`
	Most  Duration `json:"most"`
}

// Resync is how often handlers are called again for every object.
type Resync struct {
	// Default is the period of handlers that do not say otherwise; 0 is never.
	Default Duration `json:"default,omitempty"`
	// Check is how often the periods of the handlers are checked.
	Check Duration `json:"check,omitempty"`
}

// Store is where the objects are kept.
type Store struct {
	Indexes []string `json:"indexes"`
	// Transform is the function that each object goes through.
	Transform string `json:"transform,omitempty"`
	// Residency is for how long objects stay decoded.
	Residency string `json:"residency,omitempty"`
	// Decoded are those that are, by reason.
	Decoded []Decoded `json:"decoded,omitempty"`
	// MutationDetector: readers that change objects are looked for.
	MutationDetector bool `json:"mutationDetector,omitempty"`
	// MutationDetection is how closely: "sampled" or "full", where that can be chosen.
	MutationDetection string `json:"mutationDetection,omitempty"`

	Objects int `json:"objects"`
	// Bytes is what the server sent of them, Packed what they take, Held the
	// encoding that they are held in.
	Bytes  int64  `json:"bytes,omitempty"`
	Packed int64  `json:"packed,omitempty"`
	Held   string `json:"held,omitempty"`
	// Rejected counts objects that could not be read. LastRejected says which the
	// last one was, if that is known.
	Rejected     uint64 `json:"rejected,omitempty"`
	LastRejected string `json:"lastRejected,omitempty"`
	// Mutated counts objects that a reader was found to have changed.
	Mutated uint64 `json:"mutated,omitempty"`
	// Memory is what is held, where.
	Memory Memory `json:"memory,omitzero"`
	// Hits and Misses count reads that found an object decoded, and that did not, since
	// the informer was first measured.
	Hits   uint64 `json:"hits,omitempty"`
	Misses uint64 `json:"misses,omitempty"`
}

// Memory is what an informer holds, in bytes, as kinform.Memory.
type Memory struct {
	Young   int64 `json:"young"`
	Mapped  int64 `json:"mapped"`
	Live    int64 `json:"live"`
	Kept    int64 `json:"kept"`
	Passing int64 `json:"passing"`
	Shared  int64 `json:"shared"`
}

// Decoded is how many objects are decoded for one reason.
type Decoded struct {
	Why     string    `json:"why"`
	Objects int       `json:"objects"`
	Bytes   int64     `json:"bytes"`
	Since   time.Time `json:"since"`
}

// Sharing is about informers that share one watch and one store.
type Sharing struct {
	// With are the object types of the others that run on it.
	With []string `json:"with"`
}

// Handler is one that is called for changes.
type Handler struct {
	Name string `json:"name"`
	// Type is the Go type of the handler.
	Type string `json:"type,omitempty"`
	// Resync is how often it is called again for every object; 0 is never.
	Resync Duration `json:"resync,omitempty"`
	Synced bool     `json:"synced"`
	// Queue is what lies between the store and the handler, if it has its own.
	Queue *Queue `json:"queue,omitempty"`
	// ID is a number that no other handler of the process has; 0 if it has no queue.
	ID uint64 `json:"id,omitempty"`
}

// Queue is one handler's queue.
type Queue struct {
	// Policy says which changes the handler gets.
	Policy string `json:"policy"`
	// Limit is how many may wait before they are merged per object; 0: they are
	// always.
	Limit   int `json:"limit,omitempty"`
	Waiting int `json:"waiting"`
	// Delivered, Refused and Merged count changes that the handler got, that its filter
	// kept from it, and that were merged into others.
	Delivered uint64 `json:"delivered"`
	Refused   uint64 `json:"refused,omitempty"`
	Merged    uint64 `json:"merged"`
	// Panics counts those of the handler.
	Panics uint64 `json:"panics,omitempty"`
	// Lag is how long the change waits that is with the handler, or else the first in the
	// queue.
	Lag Duration `json:"lag,omitempty"`
	// Took is how long the handler took, Late how long changes had waited when it was called,
	// both since the informer was first measured; nil before.
	Took *Durations `json:"took,omitempty"`
	Late *Durations `json:"late,omitempty"`
}

// Durations are how long something took, counted.
type Durations struct {
	// Limits of the buckets, in seconds.
	Limits []float64 `json:"limits"`
	// Counts has how many are in each bucket alone; the last one has what took longer than
	// all limits.
	Counts []uint64 `json:"counts"`
	// Sum of all.
	Sum Duration `json:"sum"`
}

// Status is how an informer is doing.
type Status struct {
	Started bool           `json:"started"`
	Stopped bool           `json:"stopped"`
	Synced  bool           `json:"synced"`
	Version string         `json:"resourceVersion,omitempty"`
	Sources []SourceStatus `json:"sources,omitempty"`
}

// SourceStatus is how one list and watch is doing.
type SourceStatus struct {
	Source string    `json:"source"`
	State  string    `json:"state"`
	Since  time.Time `json:"since,omitzero"`
	Synced bool      `json:"synced"`
	// Reason and Cause are those of the present failure, Attempts is how many there
	// were in a row.
	Reason      string    `json:"reason,omitempty"`
	Cause       string    `json:"cause,omitempty"`
	Attempts    int       `json:"attempts,omitempty"`
	NextTry     time.Time `json:"nextTry,omitzero"`
	Version     string    `json:"resourceVersion,omitempty"`
	LastContact time.Time `json:"lastContact,omitzero"`
	// Listed and Received are the objects and bytes of the present or last list.
	Listed   int   `json:"listed"`
	Received int64 `json:"received,omitempty"`
	// Lists, Watches, Expired, Epochs and Stale are counted as in engine.Status.
	Lists   uint64 `json:"lists"`
	Watches uint64 `json:"watches"`
	Expired uint64 `json:"expired,omitempty"`
	Epochs  uint64 `json:"epochs,omitempty"`
	Stale   uint64 `json:"stale,omitempty"`
	// Events and Bookmarks count what watches have sent, Reconnects those watches that
	// were opened because the one before had broken.
	Events     uint64 `json:"events,omitempty"`
	Bookmarks  uint64 `json:"bookmarks,omitempty"`
	Reconnects uint64 `json:"reconnects,omitempty"`
	// ListsBy are Lists by cause, Failures are failed lists and watches by reason.
	ListsBy  map[string]uint64 `json:"listsBy,omitempty"`
	Failures map[string]uint64 `json:"failures,omitempty"`
	// ListTime is how long all lists together took that are in the store.
	ListTime Duration `json:"listTime,omitempty"`
	// WatchedSince is when the present watch was taken up.
	WatchedSince time.Time `json:"watchedSince,omitzero"`
	// SyncTook is how long it took until the first list was in the store.
	SyncTook Duration `json:"syncTook,omitempty"`
	// Snapshot says what became of the snapshot on disk, if there is to be one.
	Snapshot string `json:"snapshot,omitempty"`
}

// Duration is written as people do: "2m30s".
type Duration time.Duration

// String is "2m30s".
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes "2m30s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads "2m30s".
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}
