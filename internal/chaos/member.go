package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/check"
)

// member is one informer of the run, and those who subscribe to it.
type member struct {
	name     string
	checker  *check.Checker
	informer interface {
		Run(context.Context) error
		Status() kinform.Status
	}
	rng    *rand.Rand // of the goroutine that plays the run
	joined atomic.Uint64
	// meddled counts the changes of which those were told who change objects.
	meddled atomic.Uint64

	cancel context.CancelFunc // nil while it does not run
	ended  chan struct{}
	failed error
}

// part says which informer a member is.
type part struct {
	name    string
	http1   bool
	options kinform.Options
	list    func(context.Context) (runtime.Object, error)
}

// cast makes the informers: lists whole and in pages, through the watch, of typed,
// unstructured and metadata-only objects, in protobuf and JSON, of everything, of a
// selection, and of some namespaces.
func (r *run) cast() error {
	c := r.clients
	everywhere := []string{""}
	colored := "color in (red, blue)"
	err := add(r, part{"pods", false, kinform.Options{}, c.listPods(everywhere, metav1.ListOptions{})}, podSize, asUnstructured[*corev1.Pod])
	if err == nil {
		err = add(r, part{"pods in pages", true, kinform.Options{PageSize: 20, Residency: kinform.AlwaysDecoded},
			c.listPods(everywhere, metav1.ListOptions{})}, podSize, asMetadata[*corev1.Pod])
	}
	if err == nil {
		err = add(r, part{"config maps in namespaces", false, kinform.Options{Namespaces: namespaces[:2], ConsistentFirstList: true, Residency: kinform.NeverDecoded},
			c.listConfigMaps(namespaces[:2], metav1.ListOptions{})}, labelsOf[*corev1.ConfigMap], asUnstructured[*corev1.ConfigMap])
	}
	if err == nil {
		err = add(r, part{"colored config maps in JSON", true, kinform.Options{Resource: configMaps, LabelSelector: colored, JSON: true},
			c.listUnstructured(configMaps, metav1.ListOptions{LabelSelector: colored})}, labelsOf[*unstructured.Unstructured], asMetadata[*unstructured.Unstructured])
	}
	if err == nil {
		err = add(r, part{"gizmos", false, kinform.Options{Resource: gizmos},
			c.listUnstructured(gizmos, metav1.ListOptions{})}, labelsOf[*unstructured.Unstructured], asMetadata[*unstructured.Unstructured])
	}
	if err == nil {
		err = add(r, part{"metadata of config maps", true, kinform.Options{Resource: configMaps, PageSize: 50},
			c.listMetadata(configMaps)}, labelsOf[*metav1.PartialObjectMetadata], nil)
	}
	return err
}

// visitor is an informer that starts with a watch, and stays for one round.
func (r *run) visitor(round int) (*member, error) {
	list := r.clients.listConfigMaps([]string{""}, metav1.ListOptions{})
	return join(r, part{fmt.Sprintf("visitor %d", round), round%2 == 0, kinform.Options{WatchList: true}, list}, labelsOf[*corev1.ConfigMap], nil)
}

func add[T metav1.Object](r *run, p part, values func(T) []string, meddler func(*kinform.Informer[T], *atomic.Uint64) error) error {
	m, err := join(r, p, values, meddler)
	if err == nil {
		r.members = append(r.members, m)
	}
	return err
}

// join makes a member.
func join[T metav1.Object](r *run, p part, values func(T) []string, meddler func(*kinform.Informer[T], *atomic.Uint64) error) (*member, error) {
	cfg, err := r.network.own(r.proxy.Config(), p.http1)
	if err != nil {
		return nil, err
	}
	cfg.UserAgent = p.name
	o := p.options
	// Recovery takes milliseconds, so that there is time for many faults.
	o.Backoff = kinform.Backoff{First: 2 * time.Millisecond, Most: 100 * time.Millisecond}
	o.Silence = time.Second
	o.MaxObjectSize = 256 << 10
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	inf, err := kinform.New[T](cfg, o)
	if err != nil {
		return nil, err
	}
	m := &member{name: p.name, informer: inf, rng: rand.New(rand.NewPCG(r.Seed, uint64(len(r.members))+100))}
	m.checker = check.New(inf, check.Options{Name: p.name, List: p.list, Verify: verify, Keep: 10,
		OnViolation: func(v check.Violation) { r.Log("VIOLATION %s", v) }})
	check.Index(m.checker, "values", kinform.AddIndex(inf, "values", values), values)
	m.residents(r)
	if meddler != nil {
		if err := meddler(inf, &m.meddled); err != nil {
			return nil, err
		}
	}
	r.report.Informers++
	return m, nil
}

// What the indexes find objects by.

func labelsOf[T metav1.Object](o T) []string {
	l := o.GetLabels()
	return []string{l["color"], "size " + l["size"]}
}

func podSize(p *corev1.Pod) []string {
	if p.Labels["size"] == "0" {
		return nil
	}
	return []string{p.Labels["size"], p.Labels["color"], p.Labels["size"]}
}

// start runs the informer, if it does not run.
func (m *member) start(ctx context.Context) {
	if m.cancel != nil {
		return
	}
	ctx, m.cancel = context.WithCancel(ctx)
	m.ended = make(chan struct{})
	go func() {
		defer close(m.ended)
		m.failed = m.informer.Run(ctx)
	}()
}

// stop returns when the informer's Run has, with what that returned.
func (m *member) stop() error {
	if m.cancel == nil {
		return nil
	}
	m.cancel()
	<-m.ended
	m.cancel = nil
	if m.failed != nil {
		return fmt.Errorf("the informer of %s gave up: %w", m.name, m.failed)
	}
	return nil
}

func (m *member) tally() tally {
	t := tally{told: m.checker.Told()}
	t.told.Changes += m.meddled.Load()
	t.violations, t.violated = m.checker.Violations()
	for _, s := range m.informer.Status().Sources {
		t.lists += s.Lists
		t.watches += s.Watches
		t.expired += s.Expired
		t.epochs += s.Epochs
	}
	return t
}

// stopSome stops an informer at times; it runs again in the next round, with what
// was written meanwhile.
func (r *run) stopSome() error {
	var errs []error
	for _, m := range r.members {
		if r.rng.IntN(5) == 0 {
			errs = append(errs, m.stop())
		}
	}
	return errors.Join(errs...)
}

// farewell ends a visitor.
func (r *run) farewell(m *member) error {
	m.checker.Stop()
	err := m.stop()
	r.report.left.add(m.tally())
	r.report.Joined += m.joined.Load()
	r.members = r.members[:len(r.members)-1]
	return err
}

// dismiss ends all informers.
func (r *run) dismiss() error {
	var errs []error
	for _, m := range r.members {
		errs = append(errs, m.stop())
		m.checker.Stop()
		r.report.Joined += m.joined.Load()
	}
	r.collect()
	return errors.Join(errs...)
}
