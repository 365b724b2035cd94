package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Informer is a collection with the reflectors that fill it.
type Informer struct {
	*Collection
	reflectors []*Reflector

	mu      sync.Mutex
	running bool
	refused chan struct{} // closed when a run ended by a refusal, made again by the next
}

// ErrRunning says that an informer runs already.
var ErrRunning = errors.New("the informer is running already")

// NewInformer returns an informer over sources, each for one namespace, or for
// "" alone.
func NewInformer(o Options, ro ReflectorOptions, sources map[string]Source) *Informer {
	namespaces := make([]string, 0, len(sources))
	for ns := range sources {
		namespaces = append(namespaces, ns)
	}
	c, parts := NewCollection(o, namespaces...)
	inf := &Informer{Collection: c, refused: make(chan struct{})}
	for i, ns := range namespaces {
		inf.reflectors = append(inf.reflectors, NewReflector(sources[ns], c, parts[i], ro))
	}
	return inf
}

// Run keeps the collection up to date and calls the handlers until ctx ends, and
// then returns nil. It returns when every goroutine that it started has. It may be
// run again.
//
// Possible errors: ErrRunning; *RefusedError with the policy FailFast.
func (inf *Informer) Run(ctx context.Context) error {
	if !inf.begin() {
		return ErrRunning
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg      sync.WaitGroup
		once    sync.Once
		refusal error
	)
	for _, r := range inf.reflectors {
		wg.Go(func() {
			if err := r.Run(ctx); err != nil {
				once.Do(func() {
					refusal = err
					inf.refuse()
					cancel() // without one part, the whole is wrong
				})
			}
		})
	}
	inf.Serve(ctx)
	wg.Wait()
	inf.resident.releaseAll() // or a timer would keep all of it alive for a while
	inf.end()
	return refusal
}

func (inf *Informer) begin() bool {
	inf.mu.Lock()
	defer inf.mu.Unlock()
	if inf.running {
		return false
	}
	inf.running = true
	select {
	case <-inf.refused:
		inf.refused = make(chan struct{})
	default:
	}
	return true
}

func (inf *Informer) end() {
	inf.mu.Lock()
	defer inf.mu.Unlock()
	inf.running = false
}

// refuse wakes those who wait for a sync that will not come.
func (inf *Informer) refuse() {
	inf.mu.Lock()
	defer inf.mu.Unlock()
	close(inf.refused)
}

// Refused is closed when the server has refused the informer and the policy had
// that end Run.
func (inf *Informer) Refused() <-chan struct{} {
	inf.mu.Lock()
	defer inf.mu.Unlock()
	return inf.refused
}

// Status returns the status of each reflector: one, or one per namespace.
func (inf *Informer) Status() []Status {
	all := make([]Status, len(inf.reflectors))
	for i, r := range inf.reflectors {
		all[i] = r.Status()
	}
	return all
}

// Version is the resource version that the first reflector has reached.
func (inf *Informer) Version() Version { return inf.reflectors[0].Status().Version }

// SyncError says why an informer has not synced in time.
type SyncError struct {
	// Status of the reflector that has not synced.
	Status Status
	// Err is what ended the wait.
	Err error
}

func (e *SyncError) Error() string {
	s := e.Status
	switch {
	case s.Cause != nil:
		return fmt.Sprintf("%s not synced after %d failed attempts (%s): %v", s.Source, s.Attempts, s.Reason, s.Cause)
	case s.State == Idle:
		return fmt.Sprintf("%s not synced: the informer was not run: %v", s.Source, e.Err)
	}
	return fmt.Sprintf("%s not synced: still %s, %d objects so far: %v", s.Source, s.State, s.Listed, e.Err)
}

// Unwrap gives the cause and what ended the wait, for errors.Is and errors.As.
func (e *SyncError) Unwrap() []error {
	if e.Status.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Status.Cause, e.Err}
}

// WaitSynced waits until the first list is in the store. When ctx ends before, or
// the policy is FailFast and the server refuses, it returns a *SyncError that
// names the cause; of several namespaces, that of one that fails.
func (inf *Informer) WaitSynced(ctx context.Context) error {
	var why error
	select {
	case <-inf.Synced():
		return nil
	case <-inf.Refused():
		why = ErrRefused
	case <-ctx.Done():
		why = context.Cause(ctx)
	}
	if inf.HasSynced() {
		return nil
	}
	var failed *SyncError
	for _, s := range inf.Status() {
		if !s.Synced && (failed == nil || failed.Status.Cause == nil) {
			failed = &SyncError{Status: s, Err: why}
		}
	}
	if failed == nil {
		return nil // it synced just now
	}
	return failed
}
