package apisim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/btree"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// watchBatch is how many events are taken from the history at once.
	watchBatch = 256

	// minWatchTime is the shortest time of a watch that named none; the
	// longest is twice that.
	minWatchTime = 30 * time.Minute

	// lastBookmark is how long before its end a watch sends a bookmark.
	lastBookmark = 2 * time.Second
)

// watcher is one running watch. It has no queue: it reads the history of the
// collection from its own place on, and ends when the history has overtaken
// it.
type watcher struct {
	server    *Server
	resource  *resource
	format    format
	chosen    *selection
	bookmarks bool
	out       *frameWriter

	batch []*event // what take returned, to be used again
	next  uint64   // number of the next event
	above uint64   // events up to this version are not sent
	sent  uint64   // the version that has been reached
}

// handleWatch answers a watch. What is wrong with the request is answered
// with a status; what is wrong with its resource version, with an ERROR event.
func (s *Server) handleWatch(w http.ResponseWriter, r *request) error {
	f, err := negotiate(r, r.served, true)
	if err != nil {
		return err
	}
	o, err := listOptions(r)
	if err != nil {
		return err
	}
	chosen, err := newSelection(r, o)
	if err != nil {
		return err
	}
	version, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return invalidVersion(o.ResourceVersion, err)
	}
	watch := &watcher{
		server:    s,
		resource:  r.served,
		format:    f,
		chosen:    chosen,
		bookmarks: o.AllowWatchBookmarks,
	}
	start, startErr := watch.begin(r.http.Context(), o, version)
	watch.out = newFrameWriter(w, r, f.media)
	if startErr != nil {
		err = watch.fail(startErr)
	} else {
		err = watch.run(r.http.Context(), o, start)
	}
	switch err.(type) {
	case nil, abortAnswer:
		return err
	case errOvertaken:
		return nil // ends the stream, as a timeout does
	}
	return abortAnswer{err}
}

// begin fixes the place in the history where the watch starts. It returns the
// objects to send first, nil if none were asked for.
func (w *watcher) begin(ctx context.Context, o *metainternal.ListOptions, version uint64) (*btree.BTreeG[*object], error) {
	s, c := w.server.store, w.resource.store
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	if initial {
		if have := s.waitFor(ctx, version, freshWait); have < version {
			return nil, errTooLarge(version, have)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if initial {
		w.next, w.above, w.sent = c.log.next, s.version, s.version
		return c.viewLocked(), nil
	}
	if version == 0 {
		version = s.version
	}
	if version < c.log.watchFloor {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, c.log.watchFloor))
	}
	w.next, w.above, w.sent = c.log.after(version), version, version
	return nil, nil
}

// run sends the initial objects and then events, until the client goes, the
// time is over, or the watch is cut.
func (w *watcher) run(ctx context.Context, o *metainternal.ListOptions, initial *btree.BTreeG[*object]) error {
	end := watchTime(o)
	ctx, cancel := context.WithTimeout(ctx, end)
	defer cancel()
	bookmark := newBookmarkTimer(w.bookmarks, w.server.options.BookmarkInterval, end)
	defer bookmark.stop()

	if initial != nil {
		if err := w.sendInitial(initial); err != nil {
			return err
		}
	}
	owed, over := false, false // a bookmark is; the collection is
	for ctx.Err() == nil {
		batch, more, err := w.take()
		if err != nil {
			return err
		}
		if err := w.send(batch); err != nil {
			return err
		}
		if len(batch) > 0 {
			continue
		}
		if owed {
			owed = false
			if err := w.sendBookmark(); err != nil {
				return err
			}
		}
		if err := w.out.flush(); err != nil || over {
			return nil // the client has gone, or everything has been said
		}
		select {
		case <-more:
		case <-bookmark.due():
			bookmark.again()
			owed = true
		case <-w.resource.store.cut:
			over = true // after what is still to be sent
		case <-ctx.Done():
		}
	}
	_ = w.out.flush()
	return nil
}

func watchTime(o *metainternal.ListOptions) time.Duration {
	if o.TimeoutSeconds != nil && *o.TimeoutSeconds > 0 {
		return time.Duration(min(*o.TimeoutSeconds, 1<<31)) * time.Second
	}
	return minWatchTime + rand.N(minWatchTime)
}

// errOvertaken ends a watch whose client reads too slowly.
type errOvertaken struct{}

func (errOvertaken) Error() string { return "the watch is too far behind" }

// take returns the next events, or a channel that closes when there are some.
func (w *watcher) take() ([]*event, <-chan struct{}, error) {
	s, c := w.server.store, w.resource.store
	s.mu.RLock()
	batch, more, err := w.takeLocked()
	s.mu.RUnlock()
	if len(batch) > 0 || more != nil || err != nil {
		return batch, more, err
	}
	// The first to wait makes the channel, which needs the other lock.
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return w.takeLocked()
}

// takeLocked returns events, or the channel to wait on if there is one.
func (w *watcher) takeLocked() ([]*event, <-chan struct{}, error) {
	log := &w.resource.store.log
	if w.next < log.first {
		return nil, nil, errOvertaken{}
	}
	if w.next < log.next {
		w.batch = log.read(w.batch[:0], w.next, watchBatch)
		w.next += uint64(len(w.batch))
		return w.batch, nil, nil
	}
	w.sent = max(w.sent, w.server.store.version)
	return nil, w.resource.store.changed, nil
}

func (w *watcher) send(batch []*event) error {
	for _, e := range batch {
		if e.object.version <= w.above {
			continue
		}
		kind, shown := w.seen(e)
		if kind == "" {
			continue
		}
		frame, err := e.frames.get(w.format, kind, func() ([]byte, error) { return w.frame(e, kind, shown) })
		if err != nil {
			return err
		}
		if err := w.out.event(frame); err != nil {
			return err
		}
		w.format.table.bare = w.format.shape == asTable
	}
	return nil
}

// seen is what an event looks like through the selection: an object that
// enters it is added, one that leaves it is deleted.
func (w *watcher) seen(e *event) (eventKind, *object) {
	now := e.kind != eventDeleted && w.chosen.matches(e.object)
	before := e.before != nil && w.chosen.matches(e.before)
	switch {
	case now && before:
		return eventModified, e.object
	case now:
		return eventAdded, e.object
	case before && e.kind == eventDeleted:
		return eventDeleted, e.object
	case before:
		return eventDeleted, e.before
	}
	return "", nil
}

func (w *watcher) frame(e *event, kind eventKind, shown *object) ([]byte, error) {
	if shown.version != e.object.version {
		data, err := w.resource.store.codec.stamp(shown.data(), e.object.version)
		if err != nil {
			return nil, err
		}
		shown = &object{key: shown.key, version: e.object.version, blob: plain(data)}
	}
	item, err := w.resource.item(w.format, shown)
	if err != nil {
		return nil, err
	}
	return watchFrame(w.format.media, kind, w.resource.kindIn(w.format), item), nil
}

func (w *watcher) sendInitial(tree *btree.BTreeG[*object]) error {
	var failed error
	var frame []byte
	var unpack unpacker
	gvk := w.resource.kindIn(w.format)
	tree.AscendGreaterOrEqual(&object{key: w.chosen.prefix}, func(o *object) bool {
		if len(o.key) < len(w.chosen.prefix) || o.key[:len(w.chosen.prefix)] != w.chosen.prefix {
			return false
		}
		if !w.chosen.matches(o) {
			return true
		}
		var item []byte
		if item, failed = w.resource.itemOf(w.format, unpack.data(o)); failed != nil {
			return false
		}
		frame = appendFrame(frame[:0], w.format.media, eventAdded, gvk, item)
		failed = w.out.event(frame)
		w.format.table.bare = w.format.shape == asTable
		return failed == nil
	})
	if failed != nil || !w.bookmarks {
		return failed
	}
	frame, err := w.bookmarkFrame(w.sent, map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	if err != nil {
		return err
	}
	return w.out.initialEnd(frame)
}

// sendBookmark sends the version that has been reached, once it is beyond the
// one the watch began with.
func (w *watcher) sendBookmark() error {
	if w.sent <= w.above {
		return nil
	}
	frame, err := w.bookmarkFrame(w.sent, nil)
	if err != nil {
		return err
	}
	return w.out.bookmark(frame)
}

func (w *watcher) bookmarkFrame(version uint64, annotations map[string]string) ([]byte, error) {
	obj := w.resource.store.codec.empty()
	setVersion(obj, version)
	metaOf(obj).SetAnnotations(annotations)
	data, err := w.resource.store.codec.encode(obj)
	if err != nil {
		return nil, err
	}
	item, err := w.resource.item(w.format, &object{blob: plain(data)})
	if err != nil {
		return nil, err
	}
	return watchFrame(w.format.media, eventBookmark, w.resource.kindIn(w.format), item), nil
}

// fail sends an ERROR event and ends the watch.
func (w *watcher) fail(err error) error {
	status := toStatus(err)
	item, err := encodeItem(w.format.media, status)
	if err != nil {
		return err
	}
	frame := watchFrame(w.format.media, eventError, metav1.Unversioned.WithKind("Status"), item)
	if err := w.out.event(frame); err != nil {
		return err
	}
	_ = w.out.flush()
	return nil
}
