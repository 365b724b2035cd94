package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrNotRunning says that an informer does not run.
var ErrNotRunning = errors.New("the informer does not run")

// VerifyReport is what a comparison of the store with the server has found.
type VerifyReport struct {
	// Objects is how many the server has.
	Objects int
	// Missing are those that the store did not have, Extra those that only the store had.
	Missing, Extra int
	// Older are those of which the store had an older state, Newer those of which it had
	// one that the server does not have yet: its history went back. Where versions are not
	// ordered, all that differ are counted as Older.
	Older, Newer int
	// Repaired is how many of these differences are gone.
	Repaired int
	// Keys are those of the first differences.
	Keys []string
	// More: there were so many differences that not all of them were counted.
	More bool
}

// Differences is how many objects differed.
func (v VerifyReport) Differences() int { return v.Missing + v.Extra + v.Older + v.Newer }

// String is one line for people.
func (v VerifyReport) String() string {
	if v.Differences() == 0 {
		return fmt.Sprintf("%d objects, no difference", v.Objects)
	}
	more := ""
	if v.More {
		more = " and more"
	}
	return fmt.Sprintf("%d objects, %d missing, %d extra, %d older, %d newer%s, %d repaired: %s", v.Objects,
		v.Missing, v.Extra, v.Older, v.Newer, more, v.Repaired, strings.Join(v.Keys, ", "))
}

// maxReportedKeys bounds the bytes of the keys that a report names.
const maxReportedKeys = 1 << 10

func (v *VerifyReport) add(o VerifyReport) {
	v.Objects += o.Objects
	v.Missing, v.Extra, v.Older, v.Newer = v.Missing+o.Missing, v.Extra+o.Extra, v.Older+o.Older, v.Newer+o.Newer
	v.Repaired, v.More = v.Repaired+o.Repaired, v.More || o.More
	for _, key := range o.Keys {
		v.name(key)
	}
}

func (v *VerifyReport) name(key string) {
	bytes := len(key)
	for _, k := range v.Keys {
		bytes += len(k)
	}
	if bytes <= maxReportedKeys {
		v.Keys = append(v.Keys, key)
	}
}

// VerifyError says why a comparison with the server was not completed.
type VerifyError struct {
	// Status of the reflector whose part was compared.
	Status Status
	// Err is what failed.
	Err error
}

func (e *VerifyError) Error() string {
	return fmt.Sprintf("%s, which is %s, was not compared: %v", e.Status.Source, e.Status.State, e.Err)
}

// Unwrap gives what failed, for errors.Is and errors.As.
func (e *VerifyError) Unwrap() error { return e.Err }

// parallelVerifies is how many namespaces are compared at a time.
const parallelVerifies = 4

// Verify compares the store with what the server has, by keys, identities and versions,
// and has the reflector list again where there are differences. It waits for the first
// list. Of several namespaces, those that can be compared are, and the others give an
// error each.
//
// Possible errors: *SyncError, *VerifyError, ErrNotRunning.
func (inf *Informer) Verify(ctx context.Context) (VerifyReport, []error) {
	if err := inf.WaitSynced(ctx); err != nil {
		return VerifyReport{}, []error{err}
	}
	inf.mu.Lock()
	run := inf.run
	inf.mu.Unlock()
	if run == nil {
		return VerifyReport{}, []error{ErrNotRunning}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(run, func() { cancel(ErrNotRunning) })()

	var (
		mu    sync.Mutex
		total VerifyReport
		errs  []error
		all   sync.WaitGroup
		turns = make(chan struct{}, parallelVerifies)
	)
	compare := func(r *Reflector) {
		defer func() { <-turns }()
		report, err := inf.verify(ctx, r)
		mu.Lock()
		defer mu.Unlock()
		if errors.Is(err, errLeft) {
			return // those that have come are compared
		}
		if total.add(report); err != nil {
			errs = append(errs, &VerifyError{r.Status(), err})
		}
	}
	for done := map[*Reflector]bool{}; ; all.Wait() {
		next := slices.DeleteFunc(slices.Clone(inf.all()), func(r *Reflector) bool { return done[r] })
		if len(next) == 0 {
			return total, errs
		}
		for _, r := range next {
			done[r] = true
			turns <- struct{}{}
			all.Go(func() { compare(r) })
		}
	}
}

// verify compares what one reflector fills, and repairs it.
func (inf *Informer) verify(ctx context.Context, r *Reflector) (VerifyReport, error) {
	v := &verification{informer: inf, Reflector: r, tally: r.collection.beginTally()}
	defer r.collection.endTally(v.tally)
	found, err := v.differences(ctx)
	if r.leaving.Load() { // what was compared is not the store's any more
		select {
		case <-r.part.ended:
			return VerifyReport{}, errLeft
		case <-ctx.Done():
			return VerifyReport{}, context.Cause(ctx)
		}
	}
	if err != nil {
		return v.report, err
	}
	for _, d := range found {
		v.report.count(d)
	}
	n := len(found)
	r.status.update(func(s *Status) {
		s.Verified = time.Now()
		s.Differences += uint64(n)
	})
	if n == 0 {
		return v.report, nil
	}
	r.collection.log.line("the store differed from the server, and is listed again", "source", r.source.String(),
		"missing", v.report.Missing, "extra", v.report.Extra, "older", v.report.Older, "newer", v.report.Newer, "keys", v.report.Keys)
	if err := r.demand(ctx); err != nil {
		return v.report, err
	}
	for _, d := range found {
		if d.repaired(r.collection) {
			v.report.Repaired++
		}
	}
	return v.report, nil
}

func (v *VerifyReport) count(d difference) {
	switch {
	case !d.listed:
		v.Extra++
	case d.held == nil:
		v.Missing++
	case d.version.Before(d.held.Version()):
		v.Newer++
	default:
		v.Older++
	}
	v.name(d.key)
}
