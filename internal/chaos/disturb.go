package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// disturb does something to the server in some of the rounds.
func (r *run) disturb(ctx context.Context, round int) error {
	faults := r.Server.Faults
	if len(faults) == 0 || round%2 == 0 {
		return nil
	}
	r.sleep(ctx, time.Duration(r.rng.Int64N(int64(r.Round)/2+1)))
	fault := faults[r.rng.IntN(len(faults))]
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r.report.Faults["server: "+fault.Name]++
	if err := fault.Do(ctx); err != nil {
		return fmt.Errorf("round %d: %s: %w", round, fault.Name, err)
	}
	return nil
}

// backup is a state of the server to go back to.
type backup struct {
	version uint64
	restore func(context.Context) error
}

// lost is how many versions the server must lose at least, in every informer's eyes:
// more than it uses up by itself when it starts. Else no client could see that its
// history went back.
const lost = 400

// windBack restores the server from a backup, at quiet points when everybody is up to
// date: one that is not could hold a version that the restored server gives again
// before it is asked. For the same reason nobody writes until all have noticed.
func (r *run) windBack(ctx context.Context, round int) error {
	if r.Server.Backup == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	if r.backup == nil {
		if r.rng.IntN(2) == 0 {
			return nil
		}
		version, err := r.clients.version(ctx)
		if err != nil {
			return fmt.Errorf("round %d: ask for the version: %w", round, err)
		}
		r.backup = &backup{version: version}
		if r.backup.restore, err = r.Server.Backup(ctx); err != nil {
			return fmt.Errorf("round %d: make a backup: %w", round, err)
		}
		return nil
	}
	for _, p := range r.progress() {
		if p.version < r.backup.version+lost {
			return nil // not yet
		}
	}
	r.calm(false) // it is noticed in spite of all faults
	if err := r.backup.restore(ctx); err != nil {
		return fmt.Errorf("round %d: restore the backup: %w", round, err)
	}
	r.backup = nil
	r.proxy.Sever()
	r.mild.Sever()
	r.report.Faults["server: restored from a backup"]++
	return r.awaitNoticed(ctx, round)
}

// progress of all lists and watches of those that run.
func (r *run) progress() (all []progress) {
	for _, m := range r.members {
		if m.cancel != nil {
			all = append(all, m.informer.progress()...)
		}
	}
	return all
}

// awaitNoticed waits until every informer has seen that the server went back.
func (r *run) awaitNoticed(ctx context.Context, round int) error {
	before := r.progress()
	for {
		version, err := r.clients.version(ctx)
		var waiting []string
		for i, p := range r.progress() {
			// A watch that was opened since shows that nothing old is on its way.
			if p.version > version || p.watches == before[i].watches {
				waiting = append(waiting, fmt.Sprintf("at %d after %d lists and %d watches: %s", p.version,
					p.lists-before[i].lists, p.watches-before[i].watches, p.doing))
			}
		}
		if err == nil && len(waiting) == 0 {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("round %d: %d informers do not notice that the server went back to %d:\n%s", round, len(waiting), version, strings.Join(waiting, "\n"))
		}
	}
}
