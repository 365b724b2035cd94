package cache_test

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
	"github.com/kinform/kinform/wire"
)

// oursBytes is kinform as the factories use it: it reads bytes.
var oursBytes = side{"kinform, reading bytes", fromBytes, cache.WaitForCacheSync}

func fromBytes(lw cache.ListerWatcher, example runtime.Object, o cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	pods := byteSource{kube.NewObjectSource("pods", lw)}
	return cache.NewSharedIndexInformerWithOptions(&dropin.ListWatch{
		ListerWatcher: lw,
		Open:          func(dropin.Needs) engine.Source { return pods },
		Decode:        dropin.DecodeTyped(&corev1.Pod{}),
		Needs:         dropin.Anything,
	}, example, o)
}

// byteSource encodes what a source of objects gives.
type byteSource struct{ engine.Source }

func (s byteSource) List(ctx context.Context, o engine.ListOptions) (engine.ListStream, error) {
	l, err := s.Source.List(ctx, o)
	if err != nil {
		return nil, err
	}
	return byteList{l}, nil
}

type byteList struct{ engine.ListStream }

func (l byteList) Next() (engine.Item, error) {
	it, err := l.ListStream.Next()
	if err != nil {
		return it, err
	}
	return encoded(it)
}

func (s byteSource) Watch(ctx context.Context, o engine.WatchOptions) (engine.WatchStream, error) {
	w, err := s.Source.Watch(ctx, o)
	if err != nil {
		return nil, err
	}
	return byteWatch{w}, nil
}

type byteWatch struct{ engine.WatchStream }

func (w byteWatch) Next() (ev engine.Event, err error) {
	if ev, err = w.WatchStream.Next(); err != nil {
		return ev, err
	}
	ev.Item, err = encoded(ev.Item)
	return ev, err
}

func encoded(it engine.Item) (engine.Item, error) {
	raw, err := json.Marshal(it.Object)
	return engine.Item{Format: wire.JSON, Bytes: raw}, err
}
