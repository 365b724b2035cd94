package cli

import (
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform"
)

// informer reads any resource.
type informer = kinform.Informer[*unstructured.Unstructured]

// target is one resource that is watched.
type target struct {
	name   string // "pods"
	where  string // "in namespace default"; "" for everywhere
	secret bool   // its objects' values must not be shown
	kind   schema.GroupVersionKind

	resource string // its plural, without a group
	inf      *informer
	alarm    alarm
	lost     *problem // why it was given up, if it was

	sub *kinform.Subscription
	run context.Context // ends when this target, or all, are given up
	end context.CancelCauseFunc
}

// newTarget returns a target over the informer that build makes.
func newTarget(name string, o kinform.Options, build func(kinform.Options) (*informer, error)) (*target, error) {
	t := &target{name: name, alarm: newAlarm()}
	o.Logger = slog.New(t.alarm)
	inf, err := build(o)
	if err != nil {
		return nil, err
	}
	t.inf = inf
	t.secret = o.Resource.Group == "" && o.Resource.Resource == "secrets"
	return t, nil
}

// title is the target with its place, for messages.
func (t *target) title() string { return t.name + t.where }

// received is what has arrived of the first list.
func (t *target) received() (objects int, bytes int64) {
	for _, src := range t.inf.Status().Sources {
		objects += src.Listed
		bytes += src.Received
	}
	return objects, bytes
}

// trouble is what keeps the target from its server; nil while nothing does.
func (t *target) trouble() *kinform.SourceStatus {
	for _, src := range t.inf.Status().Sources {
		if src.Cause != nil {
			return &src
		}
	}
	return nil
}

// alarm goes off when an informer logs something; its receiver then looks at the
// informer's status.
type alarm chan struct{}

func newAlarm() alarm { return make(alarm, 1) }

// Enabled, Handle, WithAttrs and WithGroup make it a slog.Handler.
func (a alarm) Enabled(context.Context, slog.Level) bool { return true }
func (a alarm) WithAttrs([]slog.Attr) slog.Handler       { return a }
func (a alarm) WithGroup(string) slog.Handler            { return a }
func (a alarm) Handle(context.Context, slog.Record) error {
	select {
	case a <- struct{}{}:
	default: // it is ringing already
	}
	return nil
}
