package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/kinform/kinform/internal/humane"
)

// Informer is a collection with the reflectors that fill it.
type Informer struct {
	*Collection
	number uint64

	scoping sync.Mutex // held while the reflectors are started, stopped and replaced
	active  *active    // the present run; nil: it does not run

	mu         sync.Mutex
	options    ReflectorOptions
	reflectors []*Reflector // the slice is not changed, but replaced
	running    bool
	run        context.Context // of the present run; nil while there is none
	over       context.Context // done when a run ended by a refusal, made again by the next, and by Clear
	finish     context.CancelCauseFunc
}

// numbers are given to informers and subscriptions, so that those who see several of them
// can tell them apart.
var numbers atomic.Uint64

// Number is one that no other informer or subscription of the process has.
func (inf *Informer) Number() uint64 { return inf.number }

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
	inf := &Informer{Collection: c, options: ro, number: numbers.Add(1)}
	inf.over, inf.finish = context.WithCancelCause(context.Background())
	for i, ns := range namespaces {
		inf.reflectors = append(inf.reflectors, NewReflector(sources[ns], c, parts[i], ro))
	}
	return inf
}

// active is what the reflectors of one run have in common.
type active struct {
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	once    sync.Once
	refusal error
	stops   map[*Reflector]func() // each ends one and waits for it
}

// Run keeps the collection up to date and calls the handlers until ctx ends, and
// then returns nil. It returns when every goroutine that it started has. It may be
// run again.
//
// Possible errors: ErrRunning; ErrEnded; *RefusedError with the policy FailFast.
func (inf *Informer) Run(ctx context.Context) error {
	if err := inf.begin(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	inf.runs(ctx)
	now := &active{ctx: ctx, cancel: cancel, stops: map[*Reflector]func(){}}
	inf.scoping.Lock()
	inf.active = now
	for _, r := range inf.all() {
		inf.start(r)
	}
	inf.scoping.Unlock()
	inf.Serve(ctx)
	inf.scoping.Lock()
	now.wg.Wait()
	inf.active = nil
	inf.scoping.Unlock()
	inf.resident.releaseAll() // or a timer would keep all of it alive for a while
	inf.end()
	return now.refusal
}

// start runs a reflector until the run ends, or it is stopped. The caller holds scoping.
func (inf *Informer) start(r *Reflector) {
	now := inf.active
	ctx, cancel := context.WithCancel(now.ctx)
	ended := make(chan struct{})
	now.stops[r] = func() {
		cancel()
		<-ended
	}
	now.wg.Go(func() {
		defer close(ended)
		defer cancel()
		if err := r.Run(ctx); err != nil {
			now.once.Do(func() {
				now.refusal = err
				inf.finish(ErrRefused) // of this run: there is no other one yet
				now.cancel()           // without one part, the whole is wrong
			})
		}
	})
}

// all returns the reflectors.
func (inf *Informer) all() []*Reflector {
	inf.mu.Lock()
	defer inf.mu.Unlock()
	return inf.reflectors
}

func (inf *Informer) begin() error {
	inf.mu.Lock()
	defer inf.mu.Unlock()
	switch {
	case inf.running:
		return ErrRunning
	case context.Cause(inf.over) == ErrEnded:
		return ErrEnded
	case inf.over.Err() != nil:
		inf.over, inf.finish = context.WithCancelCause(context.Background())
	}
	inf.running = true
	return nil
}

func (inf *Informer) end() {
	inf.mu.Lock()
	defer inf.mu.Unlock()
	inf.running, inf.run = false, nil
}

func (inf *Informer) runs(ctx context.Context) {
	inf.mu.Lock()
	defer inf.mu.Unlock()
	inf.run = ctx
}

// Over is done when nothing more will come. Its cause is ErrRefused, where the policy had
// a refusal end Run, or ErrEnded, after Clear.
func (inf *Informer) Over() context.Context {
	inf.mu.Lock()
	defer inf.mu.Unlock()
	return inf.over
}

// Status returns the status of each reflector: one, or one per namespace.
func (inf *Informer) Status() []Status {
	reflectors := inf.all()
	all := make([]Status, len(reflectors))
	for i, r := range reflectors {
		all[i] = r.Status()
	}
	return all
}

// Version is the resource version that the first reflector has reached; zero if there is
// none.
func (inf *Informer) Version() Version {
	if all := inf.all(); len(all) > 0 {
		return all[0].Status().Version
	}
	return Version{}
}

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
		return fmt.Sprintf("%s not synced after %s (%s): %v", s.Source, humane.Count(s.Attempts, "failed attempt"), s.Reason, s.Cause)
	case s.State == Idle:
		return fmt.Sprintf("%s not synced: the informer was not run: %v", s.Source, e.Err)
	}
	return fmt.Sprintf("%s not synced: still %s, %s so far: %v", s.Source, s.State, humane.Count(s.Listed, "object"), e.Err)
}

// Unwrap gives the cause and what ended the wait, for errors.Is and errors.As.
func (e *SyncError) Unwrap() []error {
	if e.Status.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Status.Cause, e.Err}
}

// WaitSynced waits until the first list is in the store. When ctx ends before, the policy
// is FailFast and the server refuses, or Clear is called, it returns a *SyncError that
// names the cause; of several namespaces, that of one that fails.
func (inf *Informer) WaitSynced(ctx context.Context) error {
	over := inf.Over()
	var why error
	select {
	case <-inf.Synced():
		return nil
	case <-over.Done():
		why = context.Cause(over)
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
