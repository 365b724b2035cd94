package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/internal/objects"
)

// replay is a server of pods whose answers were encoded beforehand: serving one
// more update costs it a copy and a few digits, so that it is never what limits a
// client. It answers LIST, WATCH, and WATCH with initial events, in protobuf. Each
// child tells it when to begin (/reset), to send updates (/start), and to forget its
// history, with every object changed (/expire).
type replay struct {
	http  *http.Server
	url   string
	pods  []frame
	turns [][]frame // updates of the first pods: turn, pod

	mu         sync.Mutex
	generation uint64
	updates    int
	started    chan struct{} // closed by /start
	expired    chan struct{} // closed when the generation ends
}

// frame is an event of a watch, with a place for the version.
type frame struct {
	bytes   []byte
	lo, hi  int // the bare pod
	version int // where its digits begin
}

// Versions have nine digits, so that one takes the place of another. Each
// generation has a million of them.
const (
	firstVersion = 100_000_000
	versionSpan  = 1_000_000
	placeholder  = "987654321"
)

// updatedPods is how many pods are updated in turn, and updateTurns how many
// states of each there are.
const (
	updatedPods = 1000
	updateTurns = 4
)

func startReplay(n int) (*replay, error) {
	r := &replay{started: make(chan struct{}), expired: make(chan struct{}), turns: make([][]frame, updateTurns)}
	for pod := range objects.New(objects.Options{Seed: 1}).Pods(n) {
		f, err := newFrame("ADDED", pod)
		if err != nil {
			return nil, err
		}
		r.pods = append(r.pods, f)
		if len(r.turns[0]) == updatedPods {
			continue
		}
		for turn := range updateTurns {
			f, err := newFrame("MODIFIED", changed(pod, turn))
			if err != nil {
				return nil, err
			}
			r.turns[turn] = append(r.turns[turn], f)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r.url = "http://" + l.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("/reset", r.reset)
	mux.HandleFunc("/start", r.start)
	mux.HandleFunc("/expire", r.expire)
	mux.HandleFunc("/api/v1/pods", r.serve)
	r.http = &http.Server{Handler: mux}
	go func() {
		if err := r.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			exit(fmt.Errorf("the replay server: %w", err))
		}
	}()
	return r, nil
}

func (r *replay) close()         { _ = r.http.Close() }
func (r *replay) size() int      { return len(r.pods) }
func (r *replay) server() server { return server{Host: r.url} }

// changed is a pod after what a kubelet reports now and then.
func changed(pod *corev1.Pod, turn int) *corev1.Pod {
	p := pod.DeepCopy()
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		c.LastProbeTime = metav1.Unix(1_700_000_000+int64(turn), 0)
	}
	p.Status.Phase = []corev1.PodPhase{corev1.PodRunning, corev1.PodPending}[turn%2]
	p.Status.Message = fmt.Sprintf("turn %d", turn)
	return p
}

func newFrame(kind string, pod *corev1.Pod) (frame, error) {
	p := *pod
	p.ResourceVersion = placeholder
	bare, err := p.Marshal()
	if err != nil {
		return frame{}, err
	}
	whole, err := encode(&p)
	if err != nil {
		return frame{}, err
	}
	ev := metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: whole}}
	body, err := ev.Marshal()
	if err != nil {
		return frame{}, err
	}
	if n := bytes.Count(body, []byte(placeholder)); n != 1 {
		return frame{}, fmt.Errorf("%s/%s has the version %d times", pod.Namespace, pod.Name, n)
	}
	f := frame{bytes: append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)}
	f.lo = bytes.Index(f.bytes, bare)
	f.hi = f.lo + len(bare)
	f.version = bytes.Index(f.bytes, []byte(placeholder))
	return f, nil
}

// appendEvent appends the event with a version.
func (f frame) appendEvent(to []byte, version uint64) []byte {
	at := len(to) + f.version
	to = append(to, f.bytes...)
	strconv.AppendUint(to[:at], version, 10)
	return to
}

// appendItem appends the pod as an item of a list.
func (f frame) appendItem(to []byte, version uint64) []byte {
	to = append(to, 2<<3|2)
	to = binary.AppendUvarint(to, uint64(f.hi-f.lo))
	at := len(to) + f.version - f.lo
	to = append(to, f.bytes[f.lo:f.hi]...)
	strconv.AppendUint(to[:at], version, 10)
	return to
}

func (r *replay) versionLocked() uint64 { return firstVersion + r.generation*versionSpan }

// nextLocked begins a generation.
func (r *replay) nextLocked() {
	close(r.expired)
	r.expired, r.started = make(chan struct{}), make(chan struct{})
	r.generation++
}

// reset begins again and answers with the version of the list.
func (r *replay) reset(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextLocked()
	fmt.Fprint(w, r.versionLocked()+uint64(len(r.pods)))
}

func (r *replay) expire(w http.ResponseWriter, h *http.Request) { r.reset(w, h) }

// start has every watch send so many updates.
func (r *replay) start(w http.ResponseWriter, h *http.Request) {
	n, err := strconv.Atoi(h.FormValue("updates"))
	if err != nil || n > versionSpan-len(r.pods) {
		http.Error(w, "no number of updates", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updates = n
	close(r.started)
}

func (r *replay) serve(w http.ResponseWriter, h *http.Request) {
	r.mu.Lock()
	base, started, expired := r.versionLocked(), r.started, r.expired
	r.mu.Unlock()
	listed := base + uint64(len(r.pods))
	if h.FormValue("watch") == "" {
		r.list(w, base)
		return
	}
	from, _ := strconv.ParseUint(h.FormValue("resourceVersion"), 10, 64)
	initial := h.FormValue("sendInitialEvents") == "true"
	if !initial && from < listed {
		refuse(w)
		return
	}
	s := stream{w: w, flusher: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
	if initial {
		for i, f := range r.pods {
			s.event(f, base+uint64(i)+1)
		}
		s.bookmark(listed)
		from = listed
	}
	s.flush()
	select {
	case <-started:
	case <-expired:
		return
	case <-h.Context().Done():
		return
	}
	r.mu.Lock()
	updates := r.updates
	r.mu.Unlock()
	for i := int(from - listed); i < updates && s.err == nil; i++ {
		turn := r.turns[i/len(r.turns[0])%updateTurns]
		s.event(turn[i%len(turn)], listed+uint64(i)+1)
	}
	s.flush()
	select {
	case <-expired:
	case <-h.Context().Done():
	}
}

// refuse says that the history does not reach back so far.
func refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusGone)
	_, _ = w.Write(goneStatus())
}

// goneStatus is what a server answers a watch from a version that it has forgotten.
func goneStatus() []byte {
	status := apierrors.NewResourceExpired("the benchmark has forgotten this version").Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	body, err := json.Marshal(status)
	if err != nil {
		panic(err) // a Status is made for JSON
	}
	return body
}

// list writes a PodList, item by item.
func (r *replay) list(w http.ResponseWriter, base uint64) {
	meta, err := (&metav1.ListMeta{ResourceVersion: strconv.FormatUint(base+uint64(len(r.pods)), 10)}).Marshal()
	if err != nil {
		panic(err) // two strings
	}
	head := binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(meta)))
	head = append(head, meta...)
	size := len(head)
	for _, f := range r.pods {
		n := f.hi - f.lo
		size += 1 + len(binary.AppendUvarint(nil, uint64(n))) + n
	}
	kind, err := (&runtime.TypeMeta{APIVersion: "v1", Kind: "PodList"}).Marshal()
	if err != nil {
		panic(err)
	}
	s := stream{w: w, flusher: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
	s.buffer = append(s.buffer, magic...)
	s.buffer = binary.AppendUvarint(append(s.buffer, 1<<3|2), uint64(len(kind)))
	s.buffer = append(s.buffer, kind...)
	s.buffer = binary.AppendUvarint(append(s.buffer, 2<<3|2), uint64(size))
	s.buffer = append(s.buffer, head...)
	for i, f := range r.pods {
		s.buffer = f.appendItem(s.buffer, base+uint64(i)+1)
		s.more()
	}
	s.flush()
}

// stream writes in large pieces.
type stream struct {
	w       http.ResponseWriter
	flusher *http.ResponseController
	buffer  []byte
	err     error
}

func (s *stream) event(f frame, version uint64) {
	s.buffer = f.appendEvent(s.buffer, version)
	s.more()
}

// bookmark ends the initial events.
func (s *stream) bookmark(version uint64) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.FormatUint(version, 10),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
	raw, err := encode(pod)
	if err != nil {
		panic(err) // two strings
	}
	body, err := (&metav1.WatchEvent{Type: "BOOKMARK", Object: runtime.RawExtension{Raw: raw}}).Marshal()
	if err != nil {
		panic(err)
	}
	s.buffer = append(binary.BigEndian.AppendUint32(s.buffer, uint32(len(body))), body...)
}

func (s *stream) more() {
	if len(s.buffer) >= 256<<10 {
		s.flush()
	}
}

func (s *stream) flush() {
	if s.err == nil && len(s.buffer) > 0 {
		_, s.err = s.w.Write(s.buffer)
	}
	s.buffer = s.buffer[:0]
	_ = s.flusher.Flush()
}

// tell sends a command to the replay server, and returns its answer.
func tell(ctx context.Context, s server, command string) (uint64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Host+command, nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var version uint64
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", command, res.Status)
	}
	_, _ = fmt.Fscan(res.Body, &version)
	return version, nil
}
