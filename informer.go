package kinform

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	kcore "github.com/kinform/kinform/internal/core"
	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/internal/mutation"
	"github.com/kinform/kinform/kube"
)

// Informer keeps a copy of one resource of an API server, up to date while Run
// runs, and calls subscribers when it changes. T is how its objects are read: a
// pointer to a type of k8s.io/api, to your own struct with JSON tags, to
// unstructured.Unstructured, or to metav1.PartialObjectMetadata.
//
// All methods may be called by many goroutines, before, while and after it runs.
type Informer[T any] struct {
	core   *core
	view   *engine.View
	tracer Tracer // nil: there is none
}

// New returns an informer for the server of cfg. It makes no request; Run does.
func New[T any](cfg *rest.Config, o Options) (*Informer[T], error) {
	client, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("kinform: %w", err)
	}
	t, err := structOf[T]()
	if err != nil {
		return nil, err
	}
	c, err := newCore(client, t, o, new(engine.Server))
	if err != nil {
		return nil, fmt.Errorf("kinform: %w", err)
	}
	c.hooks.add(o, Options{})
	c.own = true
	return &Informer[T]{core: c, view: c.views.of(t), tracer: o.Tracer}, nil
}

// View returns another way of reading an informer's objects: the same watch, the
// same store, the same Run. An informer of metadata has no other views.
//
// U may point to a struct of your own that names, by its JSON tags, the fields that the
// program wants. Only those are decoded, from protobuf and from JSON, which takes a
// fraction of the time and the memory:
//
//	type node struct {
//		Metadata struct {
//			Name string `json:"name"`
//		} `json:"metadata"`
//		Spec struct {
//			Unschedulable bool `json:"unschedulable"`
//		} `json:"spec"`
//	}
//
// A field that the informer's Go type does not have, or has with a type that does not
// fit, is an error. A value fits a pointer: what is nil there is zero here. Where no
// whole type is known, as of custom resources that are read as unstructured objects, any
// name may be right: those that the first objects do not have are logged, and in
// Status.Unseen.
func View[U, T any](inf *Informer[T]) (*Informer[U], error) {
	t, err := structOf[U]()
	if err != nil {
		return nil, err
	}
	err = inf.core.canShow(t)
	if err == nil && !inf.core.query.Protobuf {
		err = inf.core.views.check(t)
	}
	if err != nil {
		return nil, fmt.Errorf("kinform: %s: the stored objects cannot be read as %s: %w", inf.core.current(), t, err)
	}
	return &Informer[U]{core: inf.core, view: inf.core.views.of(t), tracer: inf.tracer}, nil
}

// structOf returns the struct that T points to.
func structOf[T any]() (reflect.Type, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("kinform: %s is not a pointer to a struct, such as *corev1.Pod", t)
	}
	return t.Elem(), nil
}

// core is what all views of one resource share.
type core struct {
	*engine.Informer
	client    rest.Interface
	query     kube.Query // without what the scope says
	scoped    scoped
	own       bool // nobody else has it: its scope may be changed
	options   Options
	hooks     hooks
	mutations *mutation.Detector // nil if nobody asked for one
	views     views
}

// newCore makes a core. What it learns about the server is shared with other cores
// of the same server.
func newCore(client rest.Interface, t reflect.Type, o Options, server *engine.Server) (*core, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	resource, err := resourceOf(t, o.Resource)
	if err != nil {
		return nil, err
	}
	c := &core{client: client, options: o, own: o.OwnScope, query: kube.Query{
		Resource:     resource,
		MetadataOnly: t == metadataType,
		Protobuf:     !o.JSON && decode.SpeaksProtobuf(t),
		Compression:  kube.Compression(o.Compression),
		Limits:       o.limits(),
	}}
	scope := o.scope().normal()
	c.scoped.now.Store(&scope)
	c.views.kind, c.views.secret, c.views.log = c.kind(t), kcore.SecrecyOf(resource.GroupResource()), c.hooks.log
	// A detector that names readers must not find one's change in the objects of others.
	c.views.apart = o.Unshared || o.MutationDetector == MutationDetectorFull
	c.views.changed = c.partChanged
	ro := o.reflector()
	ro.Server, ro.OnFailure = server, c.hooks.failed
	ro.Snapshot.Open = c.snapshots(scope)
	c.Informer = engine.NewInformer(engine.Options{Residency: engine.Residency(o.Residency), Log: c.hooks.log}, ro, c.sources(scope))
	c.watchMutations(o)
	return c, nil
}

// kind returns a function that gives the kind of the objects: from their Go type, or
// else from the server.
func (c *core) kind(t reflect.Type) func() schema.GroupVersionKind {
	if gvk, ok := kindOf(t); ok {
		return func() schema.GroupVersionKind { return gvk }
	}
	return func() schema.GroupVersionKind {
		k := c.Kinds()
		return schema.FromAPIVersionAndKind(k.APIVersion, k.Kind)
	}
}

// errMetadataOnly: there is nothing else to read.
var errMetadataOnly = errors.New("only metadata is watched")

// canShow returns an error if the stored objects cannot be read as a type.
func (c *core) canShow(t reflect.Type) error {
	switch {
	case t == metadataType:
		return nil
	case c.query.MetadataOnly:
		return errMetadataOnly
	case !c.query.Protobuf || t == unstructuredType || decode.SpeaksProtobuf(t):
		return nil
	}
	return c.views.project(t)
}

// Run lists, watches and calls the handlers until ctx ends. It returns when all
// its goroutines have. It can be run again, and continues where it was.
//
// Possible errors: ErrRunning; *RefusedError with PolicyFailFast.
func (inf *Informer[T]) Run(ctx context.Context) error { return inf.core.Run(ctx) }

// Run runs the engine, then checks a last time for readers that changed objects.
func (c *core) Run(ctx context.Context) error {
	err := c.Informer.Run(ctx)
	if !errors.Is(err, ErrRunning) {
		c.mutations.Close()
	}
	return ownError(err)
}

// WaitSynced waits for the engine.
func (c *core) WaitSynced(ctx context.Context) error { return ownError(c.Informer.WaitSynced(ctx)) }

// HasSynced reports whether the first list is in the store, or the server has confirmed
// what a snapshot had.
func (inf *Informer[T]) HasSynced() bool { return inf.core.HasSynced() }

// Synced is closed when the first list is in the store, or the server has confirmed what
// a snapshot had.
func (inf *Informer[T]) Synced() <-chan struct{} { return inf.core.Synced() }

// WaitSynced waits until the first list is in the store. When ctx ends before, or
// the server refuses and the policy is PolicyFailFast, the error is a *SyncError,
// which gives the cause: forbidden, no such resource, unreachable, …
func (inf *Informer[T]) WaitSynced(ctx context.Context) error { return inf.core.WaitSynced(ctx) }

// decode returns a record's object. The view makes objects of type T and nothing
// else.
func (inf *Informer[T]) decode(r *engine.Record, use engine.Use) (T, error) {
	obj, err := inf.core.Decode(r, inf.view, use)
	if err != nil {
		var none T
		return none, ownError(err)
	}
	if inf.core.mutations != nil {
		inf.core.handedOut(r, inf.view, obj)
	}
	return obj.(T), nil
}
