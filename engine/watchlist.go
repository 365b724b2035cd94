package engine

import (
	"context"
	"errors"

	"github.com/kinform/kinform/wire"
)

// errNoInitialEnd: the initial events came to a halt before they were complete.
var errNoInitialEnd = errors.New("the initial events were not closed by a bookmark in time")

// watchList reads the whole set through a watch that starts with the present
// state, and goes on with that watch. Where the closing bookmark does not come
// (some servers and proxies never send it), it falls back to LIST for good.
func (r *Reflector) watchList(ctx context.Context) state {
	r.status.update(func(s *Status) { s.Watches++ })
	r.status.enter(Listing)
	dog := newWatchdog(ctx, r.options.WatchListDeadline)
	defer dog.release()
	stream, err := r.source.Watch(dog, WatchOptions{InitialEvents: true, Timeout: watchTimeout()})
	if err != nil {
		return r.notInitial(ctx, dog.cause(err))
	}
	defer stream.Close()
	var list List
	for {
		ev, err := stream.Next()
		if err != nil {
			return r.notInitial(ctx, dog.cause(err))
		}
		switch {
		case ev.InitialEnd:
			version, err := r.in.versionOf(ev.Item)
			if err != nil {
				return r.notInitial(ctx, err)
			}
			r.replace(list, version)
			dog.silence = r.options.Silence
			return r.follow(ctx, dog, stream)
		case ev.Type == wire.Added:
			r.add(&list, ev.Item)
			if n := len(list.Records); n&1023 == 0 {
				r.status.update(func(s *Status) { s.Listed = n })
			}
			dog.alive()
		}
	}
}

// notInitial goes on with a LIST if that may help, and remembers it.
func (r *Reflector) notInitial(ctx context.Context, err error) state {
	if ctx.Err() != nil {
		return nil
	}
	switch ReasonOf(err) {
	case Unauthorized, Forbidden, NoResource, Refused, TLS, Throttled:
		return r.failed(err, r.watchList)
	case Stalled:
		err = errNoInitialEnd
	}
	r.listOnly = true
	r.collection.log.line("falling back to LIST", "source", r.source.String(), "cause", err)
	return r.list
}
