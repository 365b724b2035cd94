package kinform

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/internal/engine"
)

// Factory shares informers: all that ask for the same objects, in whatever type,
// get views of one watch and one store.
type Factory struct {
	client   rest.Interface
	server   engine.Server
	defaults Options

	mu      sync.Mutex
	cores   []*sharedCore
	running sync.WaitGroup
	stop    context.CancelFunc
	ctx     context.Context // nil until Start
	closed  bool
}

type sharedCore struct {
	*core
	selection string
	started   bool
	pinned    bool          // it was asked for by For
	users     int           // how many leases there are
	acquired  uint64        // how many leases there were
	timer     *time.Timer   // lets go of it; nil: no time was given
	left      bool          // nobody uses it, and nobody will
	cancel    func()        // set once it is started
	over      bool          // Run has returned
	ended     chan struct{} // closed after that
}

// NewFactory returns a factory for the server of cfg. Defaults are what For uses where
// its own options are zero; they cannot name a resource.
func NewFactory(cfg *rest.Config, defaults Options) (*Factory, error) {
	if defaults.Resource.Resource != "" {
		return nil, fmt.Errorf("kinform: Options.Resource is %s: the defaults of a factory name none, For does", defaults.Resource)
	}
	if err := defaults.check(); err != nil {
		return nil, fmt.Errorf("kinform: the defaults of the factory: %w", err)
	}
	client, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("kinform: %w", err)
	}
	return &Factory{client: client, defaults: defaults}, nil
}

// For returns the factory's informer of T, and makes it if it is the first to be
// asked for. Where the options are zero, the factory's defaults are used. An informer
// that is asked for after Start runs at the next Start.
//
// Informers with equal Resource, Namespaces and selectors share one watch and one
// store. Logger, OnFailure and OnMutation belong to each reader: all of them are
// called. So do Tracer, and Grace, which is for Acquire. All other options have to be the
// same. With OwnScope nothing is shared.
//
// Possible errors: *ConflictError, and what is wrong with the options.
func For[T any](f *Factory, o Options) (*Informer[T], error) {
	t, err := structOf[T]()
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.coreForLocked(t, o)
	if err != nil {
		return nil, fmt.Errorf("kinform: %w", err)
	}
	s.pinned = true
	return &Informer[T]{core: s.core, view: s.views.of(t), tracer: o.over(f.defaults).Tracer}, nil
}

func (f *Factory) coreForLocked(t reflect.Type, asked Options) (*sharedCore, error) {
	o := asked.over(f.defaults)
	if err := o.check(); err != nil {
		return nil, err
	}
	resource, err := resourceOf(t, o.Resource)
	if err != nil {
		return nil, err
	}
	selection := o.selects(resource)
	for _, s := range f.cores {
		if s.selection != selection || o.OwnScope || s.own || s.canShow(t) != nil {
			continue
		}
		if err := agree(s.current().String(), s.options, o); err != nil {
			return nil, err
		}
		s.hooks.add(asked, f.defaults)
		return s, nil
	}
	c, err := newCore(f.client, t, o, &f.server)
	if err != nil {
		return nil, err
	}
	c.hooks.add(asked, f.defaults)
	s := &sharedCore{core: c, selection: selection, ended: make(chan struct{})}
	f.cores = append(f.cores, s)
	return s, nil
}

// Start runs every informer that does not run yet, until ctx ends or Shutdown. It
// does not wait. It may be called again after more informers were asked for; the
// first context counts.
//
// Possible errors: ErrShutDown.
func (f *Factory) Start(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrShutDown
	}
	if f.ctx == nil {
		f.ctx, f.stop = context.WithCancel(ctx)
	}
	for _, s := range f.cores {
		f.runLocked(s)
	}
	return nil
}

// WaitSynced waits for every informer that was started. Those that have not
// synced when ctx ends are in the error, each with its cause. It returns at once
// when one has ended because the server refused it.
func (f *Factory) WaitSynced(ctx context.Context) error {
	f.mu.Lock()
	var started []*core
	for _, s := range f.cores {
		if s.started {
			started = append(started, s.core)
		}
	}
	f.mu.Unlock()
	errs := make([]error, len(started))
	others, refused := context.WithCancelCause(ctx)
	defer refused(nil)
	var wg sync.WaitGroup
	for i, c := range started {
		wg.Go(func() {
			errs[i] = c.WaitSynced(others)
			if errors.Is(errs[i], ErrRefused) {
				refused(errOther)
			}
		})
	}
	wg.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { // nobody wants what was released meanwhile
		return errors.Is(err, errOther) || errors.Is(err, ErrEnded)
	})
	return errors.Join(errs...)
}

// errOther ends the wait for an informer because another one was refused.
var errOther = errors.New("another informer was refused")

// Status returns the status of each informer.
func (f *Factory) Status() []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Status
	for _, s := range f.cores {
		all = append(all, s.status())
	}
	return all
}

// Shutdown stops every informer and waits until all have stopped. A factory that
// was shut down cannot be started again.
func (f *Factory) Shutdown() {
	f.mu.Lock()
	f.closed = true
	if f.stop != nil {
		f.stop()
	}
	for _, s := range f.cores {
		if s.timer != nil {
			s.timer.Stop()
		}
		if !s.started {
			s.started, s.over = true, true
			close(s.ended)
		}
	}
	f.mu.Unlock()
	f.running.Wait()
}
