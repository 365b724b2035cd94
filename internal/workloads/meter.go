package workloads

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// meter collects the samples of a child.
type meter struct {
	mu      sync.Mutex
	sampler *sampler
	latest  Sample
	peak    Report // its peaks
	cpu     float64
	gc      collections
}

func newMeter() *meter { return &meter{sampler: newSampler()} }

func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cpu, m.gc = cpuSeconds(), readCollections()
}

func (m *meter) sample() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.sampler.now()
	if err != nil {
		return err
	}
	m.latest = s
	m.peak.PeakHeap = max(m.peak.PeakHeap, s.Heap)
	m.peak.PeakMapped = max(m.peak.PeakMapped, s.Mapped)
	m.peak.PeakOwn = max(m.peak.PeakOwn, s.Heap+s.Mapped)
	return nil
}

func (m *meter) last() Sample {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.latest
}

func (m *meter) report() *Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.peak
	gc := readCollections()
	r.PeakRSS, r.CPU, r.GCs = peakRSS(), cpuSeconds()-m.cpu, gc.count-m.gc.count
	r.Pauses, r.Longest = gc.since(m.gc)
	return &r
}

// progress is what the handlers and readers have seen.
type progress struct {
	calls, reads, sum atomic.Int64

	mu      sync.Mutex
	version uint64        // the highest that a first handler was called with
	changed chan struct{} // closed when it has risen
}

func newProgress() *progress { return &progress{changed: make(chan struct{})} }

// read counts a read. The sum keeps the compiler from leaving reads out.
func (p *progress) read(n int) {
	p.reads.Add(1)
	p.sum.Add(int64(n))
}

func (p *progress) counts() (calls, reads int64) { return p.calls.Load(), p.reads.Load() }

func (p *progress) reached(version uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if version > p.version {
		p.version = version
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

// patience is how long a version is waited for.
const patience = 2 * time.Minute

// wait waits until a handler was called with a version, and reports whether it was.
func (p *progress) wait(version uint64) bool {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		p.mu.Lock()
		there, changed := p.version >= version, p.changed
		p.mu.Unlock()
		if there {
			return true
		}
		select {
		case <-changed:
		case <-limit.C:
			return false
		}
	}
}

// listener is a handler.
type listener struct {
	use      Use
	progress *progress
	first    bool
}

func (l *listener) called(key, version string, read func() int) {
	l.progress.calls.Add(1)
	l.progress.sum.Add(int64(len(key)))
	if l.use.Read {
		l.progress.sum.Add(int64(read()))
	}
	if l.use.Slow > 0 {
		time.Sleep(l.use.Slow)
	}
	if !l.first {
		return
	}
	if v, err := strconv.ParseUint(version, 10, 64); err == nil {
		l.progress.reached(v)
	}
}

// weigh looks into an object.
func weigh(o runtime.Object) int {
	switch o := o.(type) {
	case *corev1.Pod:
		return len(o.Spec.NodeName) + len(o.Status.Phase) + len(o.Status.ContainerStatuses)
	case *corev1.Event:
		return len(o.Message) + len(o.Reason)
	case *corev1.Secret:
		return len(o.Data["data"])
	case *corev1.ConfigMap:
		return len(o.BinaryData["data"])
	case *coordinationv1.Lease:
		if o.Spec.HolderIdentity != nil {
			return len(*o.Spec.HolderIdentity)
		}
	case *discoveryv1.EndpointSlice:
		return len(o.Endpoints)
	case *unstructured.Unstructured:
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		return len(phase)
	}
	return 0
}
