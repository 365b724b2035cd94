package cache

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/klog/v2"
)

// mutationDetection is asked for when the program starts, by the environment.
var mutationDetection, _ = strconv.ParseBool(os.Getenv("KUBE_CACHE_MUTATION_DETECTOR"))

const (
	mutationPeriod = time.Second
	mutationRetain = 2 * time.Minute
)

// NewCacheMutationDetector watches objects that nobody may change. It does so only
// if the program runs with KUBE_CACHE_MUTATION_DETECTOR=true, as it costs a copy
// of each object; then a changed object ends the program.
func NewCacheMutationDetector(name string) MutationDetector {
	if !mutationDetection {
		return noDetector{}
	}
	klog.Background().Info("Warning: the cache mutation detector is on, each cached object is kept twice", "cache", name)
	return newMutationDetector(name, os.Stdout, func(message string) { panic(message) })
}

type noDetector struct{}

func (noDetector) AddObject(any)       {}
func (noDetector) Run(<-chan struct{}) {}

// mutationDetector keeps objects with copies of them for two to four minutes, and
// compares every second.
type mutationDetector struct {
	name string
	// When objects changed, the differences are written, then failed is called.
	out    io.Writer
	failed func(message string)

	mu    sync.Mutex
	added []witnessed

	// Only Run touches these.
	recent, older []witnessed
	rotated       time.Time
}

// witnessed is an object and what it was like.
type witnessed struct{ obj, copied runtime.Object }

func newMutationDetector(name string, out io.Writer, failed func(string)) *mutationDetector {
	return &mutationDetector{name: name, out: out, failed: failed}
}

// AddObject keeps what has a deep copy; a tombstone has none.
func (d *mutationDetector) AddObject(obj any) {
	object, ok := obj.(runtime.Object)
	if !ok {
		return
	}
	w := witnessed{obj: object, copied: object.DeepCopyObject()}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.added = append(d.added, w)
}

// Run compares until stopCh is closed, and once after that. It does not recover from
// panics: a program that turned this on wants to end.
func (d *mutationDetector) Run(stopCh <-chan struct{}) {
	ticker := time.NewTicker(mutationPeriod)
	defer ticker.Stop()
	for stopped := false; !stopped; {
		d.compare(time.Now())
		select {
		case <-stopCh:
			d.compare(time.Now())
			stopped = true
		case <-ticker.C:
		}
	}
}

func (d *mutationDetector) compare(now time.Time) {
	if d.rotated.IsZero() {
		d.rotated = now
	}
	if now.Sub(d.rotated) > mutationRetain {
		d.older, d.recent, d.rotated = d.recent, nil, now
	}
	d.mu.Lock()
	d.recent = append(d.recent, d.added...)
	d.added = nil
	d.mu.Unlock()

	altered := false
	for _, kept := range [][]witnessed{d.recent, d.older} {
		for i, w := range kept {
			if !reflect.DeepEqual(w.obj, w.copied) {
				fmt.Fprintf(d.out, "CACHE %s[%d] ALTERED!\n%v\n", d.name, i, diff.Diff(w.copied, w.obj))
				altered = true
			}
		}
	}
	if altered {
		d.failed(fmt.Sprintf("cache %s modified", d.name))
	}
}
