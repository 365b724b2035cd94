package debug

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// What a stream may cost: how many are open, bytes of states that wait for one reader,
// how many changes are shown a second and in a burst, and for how long a reader may not
// read.
const (
	mostStreams  = 64
	readerBytes  = 1 << 20
	readerPace   = 16 // a beat
	readerBurst  = 64
	beat         = 500 * time.Millisecond
	readerPauses = 10 * time.Second
)

// live streams what is new: of every informer, or of one with its changes.
func (h *Handler) live(w http.ResponseWriter, r *http.Request) *refusal {
	if r.Method == http.MethodHead {
		return refuse(http.StatusMethodNotAllowed, "A stream has nothing to say to HEAD.")
	}
	select {
	case h.streams <- struct{}{}:
	default:
		return refuse(http.StatusServiceUnavailable, fmt.Sprintf("%d pages are open already: close some.", mostStreams))
	}
	defer func() { <-h.streams }()
	l, p := h.look()
	if p != nil {
		return p
	}
	s := &stream{
		w: w, control: http.NewResponseController(w), looking: l, rows: []string{},
		sent: map[string]string{}, reader: &reader{queue: changeQueue{bytes: readerBytes, count: readerBurst}},
	}
	if r.URL.Query().Has("i") {
		if s.watcher, p = h.chosen(r); p == nil {
			s.reader.filter, p = streamFilter(r)
		}
		if p != nil {
			return p
		}
	}
	if p := h.opened(l); p != nil {
		return p
	}
	defer h.left(l)
	defer context.AfterFunc(l.ctx, s.giveUp)()
	s.run(r)
	return nil
}

func streamFilter(r *http.Request) (filter, *refusal) {
	asked, p := queries(r.URL.Query(), "q", "l")
	if p != nil {
		return filter{}, p
	}
	return filterOf(asked[0], asked[1])
}

// opened counts the streams: while one is open, somebody looks, and Close waits for it.
func (h *Handler) opened(l *looking) *refusal {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return closed()
	}
	l.open++
	h.open++
	return nil
}

// left is called when a stream has ended.
func (h *Handler) left(l *looking) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l.open--
	l.last = time.Now()
	if h.open--; h.open == 0 && h.closed {
		close(h.ended)
	}
}

// reader is who reads the changes of an informer.
type reader struct {
	filter filter

	mu    sync.Mutex
	queue changeQueue
}

// offer adds a change to what waits for the reader.
func (r *reader) offer(c *change) {
	if !r.filter.matches(c.key, c.labels) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue.push(c)
}

// stream is one page that is kept up to date.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	looking *looking
	watcher *watcher // nil for the overview
	reader  *reader
	rows    []string          // the informers that the page has
	sent    map[string]string // what the page was told, by element
	may     int               // how many changes may be shown

	mu      sync.Mutex
	writing bool
	over    bool // the page is closed, or the stream has ended
}

// run sends until the reader is gone, does not read, or the page is closed.
func (s *stream) run(r *http.Request) {
	defer s.finish()
	header := s.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	if r.ProtoMajor == 1 {
		header.Set("Connection", "close") // its deadlines would hold for the next request, too
	}
	if s.watcher != nil {
		s.watcher.join(s.reader)
		defer s.watcher.leave(s.reader)
	}
	s.may = readerBurst
	if !s.send("hello", "{}") {
		return
	}
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for n := 0; ; n++ {
		if n%2 == 0 && !s.sendUpdate() || !s.sendChanges() {
			return
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		case <-s.looking.ctx.Done():
			return
		}
	}
}

func (w *watcher) join(r *reader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readers[r] = true
}

func (w *watcher) leave(r *reader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.readers, r)
}

// send sends an event, and reports whether the reader still reads.
func (s *stream) send(event, data string) bool {
	if !s.begin() {
		return false
	}
	_, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event, data)
	if err == nil {
		err = s.control.Flush()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing = false
	return err == nil
}

// begin gives the reader until a deadline for what is written next, unless it is over.
func (s *stream) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(readerPauses)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return false
	}
	s.writing = true
	return true
}

// giveUp ends the stream when the page is closed, also one whose reader does not read. To
// the others it ends as an answer should.
func (s *stream) giveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing && !s.over {
		_ = s.control.SetWriteDeadline(time.Now()) // if it cannot be set, Close does not wait for ever
	}
	s.over = true
}

// finish is called at the end of the stream: from then on the connection is another
// request's.
func (s *stream) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// update is what a page changes in itself: the texts, the content, the lines of charts and
// the looks of its elements, by their ids.
type update struct {
	Text  map[string]string `json:"text,omitempty"`
	HTML  map[string]string `json:"html,omitempty"`
	Path  map[string]string `json:"path,omitempty"`
	State map[string]string `json:"state,omitempty"`
}

// sendUpdate sends what is not as it was sent before.
func (s *stream) sendUpdate() bool {
	u := update{Text: map[string]string{}, HTML: map[string]string{}, Path: map[string]string{}, State: map[string]string{}}
	if s.watcher != nil {
		s.updateInformer(u)
	} else if !s.updateOverview(u) {
		return s.send("reload", "{}")
	}
	raw, err := json.Marshal(update{s.news("t", u.Text), s.news("h", u.HTML), s.news("p", u.Path), s.news("s", u.State)})
	if err != nil {
		return false
	}
	return s.send("update", string(raw))
}

// news leaves out what was sent before.
func (s *stream) news(kind string, all map[string]string) map[string]string {
	for id, value := range all {
		if before, ok := s.sent[kind+id]; ok && before == value {
			delete(all, id)
			continue
		}
		s.sent[kind+id] = value
	}
	return all
}

// updateOverview reports false if there are other informers than before.
func (s *stream) updateOverview(u update) bool {
	var names []string
	failing := 0
	for _, r := range s.looking.overview() {
		names = append(names, r.Name)
		s.updateRow(u, r.ID(), r)
		if r.Health == "bad" {
			failing++
		}
	}
	u.Text["failing"] = fmt.Sprint(failing)
	same := len(s.rows) == 0 || slices.Equal(names, s.rows)
	s.rows = names
	return same
}

func (s *stream) updateRow(u update, id string, r row) {
	for _, cell := range cells {
		u.Text[cell+id] = r.Text(cell)
	}
	u.Path["chart"+id], u.Path["area"+id] = r.Chart(), r.Area()
	u.State["row"+id] = r.Health
}

func (s *stream) updateInformer(u update) {
	r := s.watcher.row(time.Now())
	s.updateRow(u, "", r)
	d := detail{row: r, Hottest: s.watcher.hottest(), History: s.watcher.history()}
	u.HTML["handlers"] = fragment("handlers", d)
	u.HTML["hottest"] = fragment("hottest", d)
	u.HTML["history"] = fragment("history", d)
}

// sendChanges sends the changes that wait, as many as may be shown, and how many were
// left out.
func (s *stream) sendChanges() bool {
	if s.watcher == nil {
		return true
	}
	s.reader.mu.Lock()
	taken, dropped := s.reader.queue.take(s.may)
	s.reader.mu.Unlock()
	s.may = min(s.may-len(taken)+readerPace, readerBurst)
	if len(taken) == 0 && dropped == 0 {
		return true
	}
	var b strings.Builder
	for _, c := range slices.Backward(taken) {
		b.WriteString(fragment("change", changeOf{s.watcher.informer.name, c.show()}))
	}
	raw, err := json.Marshal(map[string]any{"html": b.String(), "count": len(taken), "dropped": dropped})
	if err != nil {
		return false
	}
	return s.send("changes", string(raw))
}

// changeOf is a change with the informer that had it.
type changeOf struct {
	Informer string
	shownChange
}
