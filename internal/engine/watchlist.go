package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/engine/machine"
	"github.com/kinform/kinform/wire"
)

// errNoInitialEnd: the initial events came to a halt before they were complete.
var errNoInitialEnd = errors.New("the initial events were not closed by a bookmark in time")

// errNoInitialEvents: the server answered the request for the present state as an
// ordinary watch.
var errNoInitialEvents = errors.New("the server sent a bookmark of an ordinary watch instead of the end of the initial events")

// Server is what reflectors of one server share about it. The zero value is ready for
// use.
type Server struct {
	listOnly atomic.Bool // it does not close the initial events of a watch
}

// pace is how many initial events have to come within WatchListDeadline. They come
// by thousands a second; what comes more slowly may be what happens now, on a
// server that never closes them.
const pace = 1024

// watchList reads the whole set through a watch that starts with the present
// state, and continues with that watch. Where the closing bookmark does not come
// (some servers and proxies never send it), it falls back to LIST for good.
func (r *Reflector) watchList(ctx context.Context, do machine.Do) machine.Do {
	r.listing = stopwatch{time.Now()}
	r.show(do)
	dog := newWatchdog(ctx, r.options.WatchListDeadline)
	defer dog.release()
	o := WatchOptions{InitialEvents: true, Timeout: watchTimeout()}
	r.opening(o, do)
	stream, err := r.source.Watch(dog, o)
	if err != nil {
		return r.broke(ctx, dog.cause(err))
	}
	defer stream.Close()
	list, version, err := r.readInitial(dog, stream)
	if err != nil {
		return r.broke(ctx, dog.cause(err))
	}
	if do = r.tell(r.listed(list, version)); do.Act != machine.Store {
		return do
	}
	do = r.replace(ctx, list, version, do)
	r.beganFrom = version
	dog.silence = r.options.Silence
	return r.follow(ctx, dog, stream, do)
}

// readInitial reads the initial events, up to the bookmark that closes them.
func (r *Reflector) readInitial(dog *watchdog, stream WatchStream) (List, Version, error) {
	var list initialList
	for n := 1; ; n++ {
		ev, err := stream.Next()
		if err != nil {
			return List{}, Version{}, err
		}
		switch ev.Type {
		case wire.Bookmark:
			if !ev.InitialEnd {
				return List{}, Version{}, errNoInitialEvents
			}
			version, err := r.in.versionOf(ev.Item)
			return list.List, version, err
		case wire.Added:
			r.add(&list.List, ev.Item)
		default:
			r.correct(&list, ev)
		}
		if n%pace == 0 {
			dog.alive()
			r.status.update(func(s *Status) { s.Listed = len(list.Records) })
		}
	}
}

// initialList is a list that later events still change: a server whose state lags
// sends what it has, then the changes, then the bookmark.
type initialList struct {
	List
	at      map[string]int // where a key is in Records; made when it is needed
	counted int            // how many of Records are in it
	twice   bool           // a key was there more than once
}

// correct changes a list by an event that is no Added.
func (r *Reflector) correct(list *initialList, ev Event) {
	before := len(list.Records)
	r.add(&list.List, ev.Item)
	if len(list.Records) == before {
		return // it was rejected, and nothing of it is held
	}
	now := list.Records[before]
	clear(list.Records[before:])
	list.Records = list.Records[:before]
	if list.at == nil {
		list.at = make(map[string]int, before)
	}
	for ; list.counted < before; list.counted++ {
		key := list.Records[list.counted].key
		if _, there := list.at[key]; there {
			list.twice = true
		}
		list.at[key] = list.counted
	}
	at, there := list.at[now.key]
	switch {
	case ev.Type == wire.Modified && there:
		list.Records[at] = now
	case ev.Type == wire.Modified:
		list.Records = append(list.Records, now)
	case there && list.twice:
		list.Records = slices.DeleteFunc(list.Records, func(r *Record) bool { return r.key == now.key })
		list.at, list.counted = nil, 0 // the others have moved
	case there:
		last := before - 1
		moved := list.Records[last]
		list.Records[at], list.at[moved.key] = moved, at
		list.Records[last] = nil
		list.Records = list.Records[:last]
		delete(list.at, now.key)
		list.counted = last
	}
}

// fallBack remembers that the server does not close initial events.
func (r *Reflector) fallBack() {
	err := r.err
	if reasonOf(err) == Stalled {
		err = errNoInitialEnd
	}
	r.options.Server.listOnly.Store(true)
	r.collection.log.line("falling back to LIST", "source", r.source.String(), "cause", err)
}
