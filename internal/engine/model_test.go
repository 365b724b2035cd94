package engine

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/wire"
)

// model is a server that is simple enough to be right: a map, a counter and a
// history. It is a Source.
type model struct {
	mu        sync.Mutex
	version   uint64
	objects   map[string]thing
	history   []happening
	compacted uint64 // versions up to this one are forgotten
	streams   map[*modelWatch]bool
	down      bool
	uids      int
	lists     int
	// garble, if set, may change the bytes of a watch event.
	garble func([]byte) []byte
	// noInitialEnd leaves out the bookmark that closes the initial events.
	noInitialEnd bool
}

type thing struct {
	name, uid, color string
	version          uint64
}

type happening struct {
	kind  wire.EventType
	thing thing
}

func newModel() *model {
	return &model{objects: map[string]thing{}, version: 100, streams: map[*modelWatch]bool{}}
}

func (t thing) bytes() []byte {
	return fmt.Appendf(nil, `{"metadata":{"namespace":"ns","name":%q,"uid":%q,"resourceVersion":"%d","labels":{"color":%q}},"spec":{"color":%q}}`,
		t.name, t.uid, t.version, t.color, t.color)
}

func (t thing) key() string { return "ns/" + t.name }

func (m *model) put(name, color string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.version++
	t, there := m.objects[name]
	kind := wire.Modified
	if !there {
		m.uids++
		t = thing{name: name, uid: fmt.Sprint("uid-", m.uids)}
		kind = wire.Added
	}
	t.color, t.version = color, m.version
	m.objects[name] = t
	m.happened(kind, t)
}

func (m *model) remove(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, there := m.objects[name]
	if !there {
		return
	}
	m.version++
	t.version = m.version
	delete(m.objects, name)
	m.happened(wire.Deleted, t)
}

func (m *model) happened(kind wire.EventType, t thing) {
	m.history = append(m.history, happening{kind, t})
	for w := range m.streams {
		w.wake()
	}
}

// cut breaks every watch.
func (m *model) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for w := range m.streams {
		w.broken = true
		w.wake()
	}
}

// bookmark tells every watch the present version.
func (m *model) bookmark() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for w := range m.streams {
		w.bookmarks++
		w.wake()
	}
}

// compact forgets all versions up to now.
func (m *model) compact() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.compacted, m.history = m.version, nil
}

// backup returns what brings the model back to where it is now.
func (m *model) backup() (restore func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	version, objects := m.version, maps.Clone(m.objects)
	return func() {
		m.cut()
		m.mu.Lock()
		defer m.mu.Unlock()
		m.version, m.objects = version, maps.Clone(objects)
		m.compacted, m.history = version, nil
	}
}

func (m *model) setDown(down bool) {
	m.mu.Lock()
	m.down = down
	m.mu.Unlock()
	if down {
		m.cut()
	}
}

func (m *model) colors() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	colors := map[string]string{}
	for _, t := range m.objects {
		colors[t.key()] = t.color
	}
	return colors
}

func (m *model) String() string { return "things" }

func status(code int32, reason metav1.StatusReason, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: string(reason),
		Details: &metav1.StatusDetails{Causes: causes},
	}}
}

var errDown = status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)

func (m *model) List(_ context.Context, o ListOptions) (ListStream, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists++
	if m.down {
		return nil, errDown
	}
	if v, _ := strconv.ParseUint(o.ResourceVersion, 10, 64); v > m.version {
		return nil, status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
			metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge})
	}
	l := &modelList{version: m.version}
	for _, t := range m.objects {
		l.items = append(l.items, t.bytes())
		if o.Probe && len(l.items) == int(o.Limit) {
			break
		}
	}
	return l, nil
}

type modelList struct {
	items   [][]byte
	version uint64
}

func (l *modelList) Next() (Item, error) {
	if len(l.items) == 0 {
		return Item{}, io.EOF
	}
	raw := l.items[0]
	l.items = l.items[1:]
	return Item{Format: wire.JSON, Bytes: raw}, nil
}

func (l *modelList) Meta() wire.ListMeta {
	return wire.ListMeta{APIVersion: "v1", Kind: "ThingList", ResourceVersion: fmt.Sprint(l.version)}
}
func (l *modelList) Received() int64 { return 0 }
func (l *modelList) Close() error    { return nil }

func (m *model) Watch(ctx context.Context, o WatchOptions) (WatchStream, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return nil, errDown
	}
	from, _ := strconv.ParseUint(o.ResourceVersion, 10, 64)
	w := &modelWatch{model: m, ctx: ctx, from: from, token: make(chan struct{}, 1)}
	if o.InitialEvents {
		for _, t := range m.objects {
			w.initial = append(w.initial, Event{Type: wire.Added, Item: Item{Format: wire.JSON, Bytes: t.bytes()}})
		}
		if !m.noInitialEnd {
			w.initial = append(w.initial, Event{Type: wire.Bookmark, Item: bookmarkItem(m.version), InitialEnd: true})
		}
		w.from = m.version
	} else if from < m.compacted {
		return nil, status(http.StatusGone, metav1.StatusReasonExpired)
	}
	m.streams[w] = true
	w.wake()
	return w, nil
}

// modelWatch replays the history from a version on, and waits for more.
type modelWatch struct {
	model     *model
	ctx       context.Context
	initial   []Event
	from      uint64
	bookmarks int
	broken    bool
	token     chan struct{}
}

func (w *modelWatch) wake() {
	select {
	case w.token <- struct{}{}:
	default:
	}
}

func bookmarkItem(version uint64) Item {
	return Item{Format: wire.JSON, Bytes: fmt.Appendf(nil, `{"metadata":{"resourceVersion":"%d"}}`, version)}
}

func (w *modelWatch) Next() (Event, error) {
	for {
		if ev, ok, err := w.try(true); ok || err != nil {
			return ev, err
		}
		select {
		case <-w.token:
		case <-w.ctx.Done():
			return Event{}, w.ctx.Err()
		}
	}
}

func (w *modelWatch) Buffered() bool {
	_, ok, _ := w.try(false)
	return ok
}

// try returns the next event, if there is one; take says that it is consumed.
func (w *modelWatch) try(take bool) (Event, bool, error) {
	m := w.model
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.broken {
		return Event{}, false, io.ErrUnexpectedEOF
	}
	if len(w.initial) > 0 {
		ev := w.initial[0]
		if take {
			w.initial = w.initial[1:]
		}
		return ev, true, nil
	}
	if w.from < m.compacted {
		return Event{}, false, status(http.StatusGone, metav1.StatusReasonExpired)
	}
	for _, h := range m.history {
		if h.thing.version <= w.from {
			continue
		}
		if take {
			w.from = h.thing.version
		}
		raw := h.thing.bytes()
		if take && m.garble != nil {
			raw = m.garble(raw)
		}
		return Event{Type: h.kind, Item: Item{Format: wire.JSON, Bytes: raw}}, true, nil
	}
	if w.bookmarks > 0 {
		if take {
			w.bookmarks--
		}
		return Event{Type: wire.Bookmark, Item: bookmarkItem(m.version)}, true, nil
	}
	return Event{}, false, nil
}

func (w *modelWatch) Close() error {
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	delete(w.model.streams, w)
	return nil
}

// randomStep changes the model in some way.
func (m *model) randomStep(rnd *rand.Rand) {
	name := fmt.Sprint("t", rnd.IntN(12))
	color := []string{"red", "green", "blue"}[rnd.IntN(3)]
	switch p := rnd.IntN(100); {
	case p < 55:
		m.put(name, color)
	case p < 80:
		m.remove(name)
	case p < 85:
		m.cut()
	case p < 88:
		m.compact()
	case p < 90:
		m.compact()
		m.cut()
	case p < 94:
		m.bookmark()
	case p < 96:
		m.setDown(true)
	default:
		m.setDown(false)
	}
}
