package core

import (
	"context"
	"errors"
	"reflect"
	"runtime/debug"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/internal/engine"
)

// Secrecy says whether objects hold what must not be quoted. Decoders quote what they
// cannot read, and the functions of programs quote what they were given; errors and
// panics get into logs, status and traces. Whatever can fail over an object goes through
// one of these methods. They return what they were given where nothing is secret.
type Secrecy bool

// SecrecyOf returns that of a resource.
func SecrecyOf(r schema.GroupResource) Secrecy {
	return r == schema.GroupResource{Resource: "secrets"}
}

// SecrecyOfObject returns that of objects like an example. What may be anything counts as
// secret.
func SecrecyOfObject(example runtime.Object) Secrecy {
	switch obj := example.(type) {
	case nil:
		return true
	case *metav1.PartialObjectMetadata, *unstructured.Unstructured:
		kind := obj.GetObjectKind().GroupVersionKind().GroupKind()
		return kind.Kind == "" || kind == schema.GroupKind{Kind: "Secret"}
	}
	t := reflect.TypeOf(example)
	return t.Kind() != reflect.Pointer || t.Elem().Name() == "Secret" && t.Elem().PkgPath() == "k8s.io/api/core/v1"
}

// ErrWithheld replaces the error of something that failed over a secret object.
var ErrWithheld = errors.New("it failed (details are withheld, as it is a Secret)")

// Error returns what may be told of an error.
func (s Secrecy) Error(err error) error {
	if err == nil || !bool(s) {
		return err
	}
	return ErrWithheld
}

// Decoder returns a decoder whose errors and panics quote nothing.
func (s Secrecy) Decoder(decode func(*engine.Record, engine.Neighbour) (any, error)) func(*engine.Record, engine.Neighbour) (any, error) {
	if !s {
		return decode
	}
	return func(r *engine.Record, near engine.Neighbour) (obj any, err error) {
		defer withhold(&err)
		return decode(r, near)
	}
}

// Values returns an index function whose errors and panics quote nothing.
func (s Secrecy) Values(values func(*engine.Record) ([]string, error)) func(*engine.Record) ([]string, error) {
	if !s {
		return values
	}
	return func(r *engine.Record) (v []string, err error) {
		defer withhold(&err)
		return values(r)
	}
}

// Transform returns a transform whose errors and panics quote nothing.
func (s Secrecy) Transform(transform func(any) (any, error)) func(any) (any, error) {
	if !s {
		return transform
	}
	return func(obj any) (made any, err error) {
		defer withhold(&err)
		return transform(obj)
	}
}

// withhold is deferred by what may fail. What was withheld already says so.
func withhold(err *error) {
	_, known := (*err).(*engine.DecodeError) //nolint:errorlint // of the engine, as it is
	if recover() != nil || *err != nil && !known {
		*err = ErrWithheld
	}
}

// Subscriber returns a handler, and options, of whose panics nothing is quoted. The
// program's own OnPanic gets the value.
func (s Secrecy) Subscriber(handler func(context.Context, engine.Delta), o engine.SubscribeOptions) (func(context.Context, engine.Delta), engine.SubscribeOptions) {
	if !s {
		return handler, o
	}
	if filter := o.Filter; filter != nil {
		o.Filter = func(d engine.Delta) (passes bool) {
			discreetly(func() { passes = filter(d) })
			return passes
		}
	}
	return func(ctx context.Context, d engine.Delta) { discreetly(func() { handler(ctx, d) }) }, o
}

// discreetly calls f, and panics with a *Panic where it does. It panics anew: Go prints
// the values of all panics that a goroutine has under way.
func discreetly(f func()) {
	if p := contained(f); p != nil {
		panic(p)
	}
}

func contained(f func()) (p *Panic) {
	defer func() {
		if value := recover(); value != nil {
			p = &Panic{func() any { return value }, debug.Stack()}
		}
	}()
	f()
	return nil
}

// Panic is what a handler of secret objects has panicked with. As a text, it quotes
// nothing.
type Panic struct {
	value func() any // not a field that %#v would print
	Stack []byte
}

// String says where the panic was, and not what about.
func (p *Panic) String() string {
	return "a panic (its value is withheld, as it is about a Secret)\n" + string(p.Stack)
}

// OnPanic returns a function that gets the values of panics as they were, and where they
// were; nil if f is.
func OnPanic(f func(key string, value any, stack []byte)) func(key string, value any, stack []byte) {
	if f == nil {
		return nil
	}
	return func(key string, value any, stack []byte) {
		if p, ok := value.(*Panic); ok {
			value, stack = p.value(), p.Stack
		}
		f(key, value, stack)
	}
}
