package engine

import (
	"errors"
	"testing"
	"testing/synctest"
)

// TestRefusalIsTold: who waits hears that a run was refused, also if the next one begins
// at once.
func TestRefusalIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": newPlaybook("10", seeds)})
		waits := []func() error{
			func() error { return inf.WaitFor(t.Context(), ParseVersion("1000")) },
			func() error { return inf.WaitSynced(t.Context()) },
			func() error { return inf.WaitSyncedIn(t.Context(), "ns") },
		}
		for range 20 {
			if err := inf.begin(); err != nil {
				t.Fatal(err)
			}
			results := make(chan error)
			for _, wait := range waits {
				go func() { results <- wait() }()
			}
			synctest.Wait()
			inf.finish(ErrRefused)
			inf.end()
			if err := inf.begin(); err != nil {
				t.Fatal(err)
			}
			for range waits {
				if err := <-results; !errors.Is(err, ErrRefused) {
					t.Errorf("a wait ended with %v", err)
				}
			}
			inf.end()
		}
	})
}

// TestEpochOfUnconfirmed: where subscribers know what a disk had, a list that is older is
// one of a history that went back, in another scope, too.
func TestEpochOfUnconfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		before(t, dir)
		o := onDisk(dir, ReflectorOptions{Snapshot: SnapshotOptions{OnlyChanges: true}})
		run(t, newPlaybook("75", onFile), o, func(inf *Informer, h *heard) {
			reselected(inf, "40", map[string]string{"a": "u1@30", "b": "u2@20"})
			synctest.Wait()
			if got, want := h.sorted(), "updated a@30, updated b@20"; got != want || inf.Epochs() != 1 {
				t.Errorf("heard %q, want %q; %d epochs", got, want, inf.Epochs())
			}
		})
	})
}
