package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinform/kinform/wire"
)

// How the store is compared with the server. A list of metadata is read as it arrives, and
// each object is looked up in the store. What differs may only have changed meanwhile. So
// it is looked at again when the store has reached the version of the list: what the watch
// has not brought by then it will never bring. Where versions prove nothing, the server is
// asked a second time, and what differs in the same way both times counts.

const (
	// verifyPage is the size of the pages that metadata is listed in.
	verifyPage = 1000
	// verifyPatience is how long the store may take to reach the version of a list before
	// it counts as being behind: servers send bookmarks about once a minute.
	verifyPatience = 75 * time.Second
	// verifyAttempts is how often a list is asked for whose connection breaks: one that was
	// kept open may be of a server that has gone.
	verifyAttempts = 3
	// secondLook is how long after the first look the second one follows where versions
	// prove nothing.
	secondLook = 2 * time.Second
	// maxDiffering bounds what is remembered of objects that differ, in bytes.
	maxDiffering = 4 << 20
	// differenceSize is about what is remembered of each, without its key.
	differenceSize = 96
)

// errBehind ends the wait for a store that does not reach a version in time.
var errBehind = errors.New("the watch has not reached the version of the list")

// errReached ends the wait for single objects when the store has the version of the list.
var errReached = errors.New("the version of the list is reached")

// difference is an object of which the server and the store do not have the same state.
type difference struct {
	key     string
	listed  bool    // the server has it, in this state:
	uid     uid     //
	version Version //
	held    *Record // what the store has; nil: nothing
}

// same reports whether two differences of one object are the same.
func (d difference) same(o difference) bool {
	if d.listed != o.listed || d.uid != o.uid || d.version != o.version || (d.held == nil) != (o.held == nil) {
		return false
	}
	return d.held == nil || d.held.uid == o.held.uid && d.held.Version() == o.held.Version()
}

// repaired reports whether the store does not have the wrong state any more.
func (d difference) repaired(c *Collection) bool {
	now := d
	now.held = c.Get(d.key)
	if now.listed && now.held != nil && now.held.uid == d.uid && sameVersion(now.held, d.version) {
		return true
	}
	return !now.same(d)
}

// sameVersion compares a version as it is written: whether it is a number depends on who
// read it.
func sameVersion(r *Record, v Version) bool {
	if r.number != 0 && v.number != 0 {
		return r.number == v.number
	}
	return r.Version().String() == v.String()
}

// verification is one comparison of what a reflector fills.
type verification struct {
	*Reflector
	informer *Informer
	tally    *tally
	report   VerifyReport

	meta  wire.Meta
	key   []byte
	seen  []uint64 // hashes of the keys that the server has
	found []difference
	bytes int // what was found weighs
}

// differences returns the objects that differ, and will as long as nobody lists.
func (v *verification) differences(ctx context.Context) ([]difference, error) {
	if v.part.isUnordered() {
		return v.twice(ctx)
	}
	began := v.part.Version()
	version, err := v.look(ctx)
	switch {
	case err != nil || len(v.found) == 0:
		return nil, err
	case version.number == 0:
		return v.twice(ctx)
	}
	wentBack := version.Before(began)
	if !wentBack {
		switch err := v.reach(ctx, version); {
		case errors.Is(err, ErrUnordered):
			return v.twice(ctx)
		case errors.Is(err, ErrNoVersion):
			wentBack = true
		case err != nil && !errors.Is(err, errReached) && !errors.Is(err, errBehind):
			return nil, err
		}
	}
	return v.remaining(func(d difference) bool { return v.differs(d, version, wentBack) }), nil
}

// reach waits until the store has a version by what the watch brings, or has all objects
// that differ in the state that was listed, or a newer one. A list would only hide what
// the watch has not brought; but where there is no watch, it is what is waited for.
func (v *verification) reach(ctx context.Context, version Version) error {
	ctx, cancel := context.WithTimeoutCause(ctx, verifyPatience, errBehind)
	defer cancel()
	settled, settle := context.WithCancelCause(ctx)
	defer settle(nil)
	asked := v.Status().State != Polling // as if it had been: nobody is to ask
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() {
		err := v.informer.wait(ctx, v.Reflector, &waiter{version: version.number, asked: asked}, version)
		if err == nil {
			err = errReached
		}
		settle(err)
	})
	for _, d := range v.found {
		w := &waiter{version: d.version.number, key: d.key, gone: !d.listed, asked: asked}
		if err := v.informer.wait(settled, v.Reflector, w, d.version); err != nil {
			return err
		}
	}
	return nil
}

// remaining returns what differs still, as the store is now.
func (v *verification) remaining(differs func(difference) bool) (rest []difference) {
	for _, d := range v.found {
		if d.held = v.collection.Get(d.key); differs(d) {
			rest = append(rest, d)
		}
	}
	return rest
}

// differs reports whether an object differs from the list of a version that the store has
// reached.
func (v *verification) differs(d difference, listed Version, wentBack bool) bool {
	since := d.held != nil && listed.Before(d.held.Version()) && !wentBack // it is of after the list
	switch {
	case !d.listed:
		return d.held != nil && !since
	case d.held == nil:
		return !v.collection.hasEnded(v.tally, d.uid, d.version)
	}
	return !since && (d.held.uid != d.uid || d.held.number != d.version.number)
}

// twice compares by two looks: what is the same in both, and differs, counts. What is
// polled is listed first, or else it would be as old as the last poll.
func (v *verification) twice(ctx context.Context) ([]difference, error) {
	if v.Status().State == Polling {
		if err := v.demand(ctx); err != nil {
			return nil, err
		}
	}
	if _, err := v.look(ctx); err != nil || len(v.found) == 0 {
		return nil, err
	}
	first := map[string]difference{}
	for _, d := range v.found {
		first[d.key] = d
	}
	select {
	case <-time.After(secondLook):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if _, err := v.look(ctx); err != nil {
		return nil, err
	}
	return v.remaining(func(d difference) bool {
		was, known := first[d.key]
		return known && was.same(d)
	}), nil
}

// look compares the store with a list, and returns the version of the list.
func (v *verification) look(ctx context.Context) (Version, error) {
	for attempt := 1; ; attempt++ {
		version, err := v.compare(ctx, verifyPage)
		if isExpired(err) { // pages are older than a server remembers by the time that all are read
			version, err = v.compare(ctx, 0)
		}
		if reasonOf(err) != Cut || attempt == verifyAttempts || ctx.Err() != nil {
			return version, err
		}
	}
}

func (v *verification) compare(ctx context.Context, page int64) (Version, error) {
	v.report, v.seen, v.found, v.bytes = VerifyReport{}, v.seen[:0], nil, 0
	dog := newWatchdog(ctx, v.options.Silence)
	if v.in.objects {
		dog.only(func() {}) // nothing comes before all of it
	}
	defer dog.release()
	stream, err := v.source.List(dog, ListOptions{Limit: page, Metadata: true, Alive: dog.alive})
	if err != nil {
		return Version{}, dog.cause(err)
	}
	defer stream.Close()
	for {
		item, err := stream.Next()
		dog.alive()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Version{}, dog.cause(err)
		}
		if err := v.item(item); err != nil {
			return Version{}, err
		}
	}
	v.onlyHere()
	return ParseVersion(stream.Meta().ResourceVersion), nil
}

var verifySeed = maphash.MakeSeed()

// item looks up an object that the server has.
func (v *verification) item(it Item) error {
	d := difference{listed: true}
	if it.Object != nil {
		o, err := meta.Accessor(it.Object)
		if err != nil || v.options.Accept != nil && v.options.Accept(it.Object) != nil {
			return nil //nolint:nilerr // it is no object of the kind, and does not get into the store
		}
		v.key = append(v.key[:0], Object{Namespace: o.GetNamespace(), Name: o.GetName()}.key()...)
		d.uid, _ = uidOf([]byte(o.GetUID()))
		d.version = ParseVersion(o.GetResourceVersion())
	} else {
		m := &v.meta
		if err := m.Scan(it.Format, it.Bytes); err != nil {
			return fmt.Errorf("an object of the list: %w", err)
		}
		v.key = v.key[:0]
		if len(m.Namespace) > 0 {
			v.key = append(append(v.key, m.Namespace...), '/')
		}
		v.key = append(v.key, m.Name...)
		d.uid, _ = uidOf(m.UID)
		d.version = ParseVersion(m.ResourceVersion)
	}
	v.report.Objects++
	v.seen = append(v.seen, maphash.Bytes(verifySeed, v.key))
	d.held = v.collection.getBytes(v.key)
	if d.held == nil || d.held.uid != d.uid || !sameVersion(d.held, d.version) {
		d.key = string(v.key)
		v.note(d)
	}
	return nil
}

// onlyHere finds what the server does not have. Of 2⁶⁴ keys, two have the same hash.
func (v *verification) onlyHere() {
	slices.Sort(v.seen)
	for r := range v.records() {
		if _, found := slices.BinarySearch(v.seen, maphash.String(verifySeed, r.key)); !found {
			v.note(difference{key: r.key, held: r})
		}
	}
}

func (v *verification) records() iter.Seq[*Record] {
	if v.part.namespace == "" {
		return v.collection.All()
	}
	return v.collection.Namespace(v.part.namespace)
}

func (v *verification) note(d difference) {
	if v.bytes += differenceSize + len(d.key); v.bytes > maxDiffering {
		v.report.More = true
		return
	}
	v.found = append(v.found, d)
}
