package engine

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/kinform/kinform/internal/engine/machine"
)

// How a server proves that what the disk has is its own past.

var (
	// errUnproven: none of the objects on disk shows that the server is the same one.
	errUnproven = errors.New("none of the newest objects on disk is on the server as it was: it may be another one, or much has changed")
	// errOtherwise: the same state looks otherwise.
	errOtherwise = errors.New("the server shows the objects on disk otherwise: its defaults or a conversion have changed")
	// errDiverged: an object is in a state that the history does not lead to.
	errDiverged = errors.New("the server does not have what is on disk, and did not change it: its history went back")
)

// witnesses is how many objects are asked for at most, one after the other. Where the
// newest ones change all the time, an older one proves as much, if the watch brings those
// that are newer.
const witnesses = 20

// prove asks the server for the newest objects that the disk had, until it has one in the
// very state that we have: that proves that it is the same server, and that its history is
// the one we know, up to there. Those before it are gone or in a later state, which the
// watch has to bring; if it does not, or if one is in an older state, the history went
// back. One in the same state that looks otherwise shows that a list would bring what no
// watch does.
func (r *Reflector) prove(ctx context.Context, do machine.Do) machine.Do {
	r.show(do)
	r.target, r.outdated = Version{}, nil
	h := machine.Happened{What: machine.Proved}
	var err error
	h.Proof, err = r.proof(ctx)
	switch {
	case err == errDiverged:
		h.Proof = machine.Diverged
	case err != nil:
		return r.broke(ctx, err)
	}
	return r.caughtUp(h, nil)
}

// proof asks the server for the newest objects, and returns what they show.
//
// Possible errors: errDiverged, those of the request.
func (r *Reflector) proof(ctx context.Context) (machine.Proof, error) {
	newest := r.newestOf(witnesses)
	if len(newest) == 0 {
		return machine.NothingToAsk, nil
	}
	for _, w := range newest {
		found, err := r.summon(ctx, w.key)
		if err != nil {
			return machine.NoProof, err
		}
		ours := found != nil && found.uid == w.uid
		switch {
		case found == w:
			return machine.SameHistory, r.exhume(ctx, w.number)
		case ours && found.number == w.number:
			return machine.Otherwise, nil
		case ours && found.number <= r.version.number:
			return machine.Diverged, nil
		}
		r.outdated = append(r.outdated, w)
	}
	return machine.Strange, nil
}

// summon asks for an object, and notes the version that the server had. It returns the
// record of the store if that is its state, nil if there is no such object.
//
// Possible errors: errDiverged, those of the request.
func (r *Reflector) summon(ctx context.Context, key string) (*Record, error) {
	o := ListOptions{Probe: true, ResourceVersion: r.version.String(), Object: key}
	version, found, err := r.ask(ctx, min(r.options.Silence, catchUp), o)
	if isAhead(err) || isExpired(err) || err == errStalled || err == nil && version.Before(r.version) {
		o.ResourceVersion = "" // that server may lag behind, or its history have gone back
		version, found, err = r.ask(ctx, r.options.Silence, o)
	}
	if err == nil && version.Before(r.version) {
		err = errDiverged
	}
	if r.target.Before(version) || r.target.IsZero() {
		r.target = version
	}
	return found, err
}

// exhume asks for the object whose end is the last that the disk knows of, if that was
// later than what is proven: where it is still there, the history went back.
func (r *Reflector) exhume(ctx context.Context, proven uint64) error {
	g := r.buried
	if g == nil || ParseVersion(g.Version).number <= proven {
		return nil
	}
	found, err := r.summon(ctx, g.Key)
	if err != nil || found == nil || found.number > r.version.number || found == r.collection.Get(g.Key) {
		return err // or it has come back since, as objects do that are selected by a label
	}
	if id, _ := uidOf([]byte(g.UID)); found.uid == id {
		return errDiverged
	}
	return nil
}

// newestOf returns the records of the partition that have changed last, newest first.
func (r *Reflector) newestOf(n int) []*Record {
	var newest []*Record
	for rec := range r.collection.recordsOf(r.part) {
		if rec.number == 0 || rec.number > r.version.number || rec.uid == (uid{}) {
			continue
		}
		at, _ := slices.BinarySearchFunc(newest, rec, func(a, b *Record) int {
			if a.number > b.number {
				return -1
			}
			return 1
		})
		if at < n {
			newest = slices.Insert(newest, at, rec)[:min(len(newest)+1, n)]
		}
	}
	return newest
}

// ask returns the version of a list of one object, and its state, if it is there.
func (r *Reflector) ask(ctx context.Context, silence time.Duration, o ListOptions) (v Version, found *Record, err error) {
	dog := newWatchdog(ctx, silence)
	defer dog.release()
	stream, err := r.source.List(dog, o)
	if err != nil {
		return v, nil, dog.cause(err)
	}
	defer stream.Close()
	for {
		item, err := stream.Next()
		switch {
		case err == io.EOF:
			return ParseVersion(stream.Meta().ResourceVersion), found, nil
		case err != nil:
			return v, nil, dog.cause(err)
		}
		if r.in.meta.Scan(item.Format, item.Bytes) != nil {
			continue // a list will report it
		}
		m := &r.in.meta
		r.in.lookup(m.Namespace, m.Name) // which builds the key
		if string(r.in.key) == o.Object {
			found, _ = r.in.record(item, false)
		}
	}
}
