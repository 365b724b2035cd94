package chaos

import (
	"context"
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

// part says which informer a member is.
type part struct {
	name    string
	http1   bool
	options kinform.Options
	list    func(context.Context) (runtime.Object, error)
	// rescoped: its scope is changed while it runs.
	rescoped bool
}

// cast makes the informers: lists whole and in pages, through the watch, of typed,
// unstructured and metadata-only objects, in protobuf and JSON, of everything, of a
// selection, and of some namespaces; one that is read in three ways; and drop-ins.
func (r *run) cast() error {
	c := r.clients
	everywhere := []string{""}
	colored := "color in (red, blue)"
	err := add(r, part{name: "pods", options: kinform.Options{}, list: c.listPods(everywhere, metav1.ListOptions{})}, podSize, asUnstructured[*corev1.Pod])
	if err == nil {
		err = add(r, part{name: "pods in pages", http1: true, options: kinform.Options{PageSize: 20, Residency: kinform.ResidencyAlways},
			list: c.listPods(everywhere, metav1.ListOptions{})}, podSize, asMetadata[*corev1.Pod])
	}
	if err == nil {
		err = add(r, part{name: "config maps in namespaces", options: kinform.Options{Namespaces: namespaces[:2], FromCache: true, Residency: kinform.ResidencyNever},
			list: c.listConfigMaps(namespaces[:2], metav1.ListOptions{})}, labelsOf[*corev1.ConfigMap], asUnstructured[*corev1.ConfigMap])
	}
	if err == nil {
		err = add(r, part{name: "colored config maps in JSON", http1: true, options: kinform.Options{Resource: configMaps, LabelSelector: colored, JSON: true},
			list: c.listUnstructured(configMaps, metav1.ListOptions{LabelSelector: colored})}, labelsOf[*unstructured.Unstructured], asMetadata[*unstructured.Unstructured])
	}
	if err == nil {
		err = add(r, part{name: "gizmos", options: kinform.Options{Resource: gizmos},
			list: c.listUnstructured(gizmos, metav1.ListOptions{})}, labelsOf[*unstructured.Unstructured], asMetadata[*unstructured.Unstructured])
	}
	if err == nil {
		err = add(r, part{name: "metadata of config maps", http1: true, options: kinform.Options{Resource: configMaps, PageSize: 50},
			list: c.listMetadata(configMaps)}, labelsOf[*metav1.PartialObjectMetadata], nil)
	}
	if err == nil {
		err = r.addWanderer()
	}
	if err == nil {
		err = r.addViews()
	}
	if err == nil {
		err = r.hire()
	}
	return err
}

// addViews makes one informer that is read in three ways, each held against the
// server in its own type.
func (r *run) addViews() error {
	c := r.clients
	typed, m, err := join(r, part{name: "config maps in three views", options: kinform.Options{Residency: 16 << 20},
		list: c.listConfigMaps([]string{""}, metav1.ListOptions{})}, labelsOf[*corev1.ConfigMap], nil)
	if err != nil {
		return err
	}
	r.members = append(r.members, m)
	whole, err := kinform.View[*unstructured.Unstructured](typed)
	if err != nil {
		return err
	}
	names, err := kinform.View[*metav1.PartialObjectMetadata](typed)
	if err != nil {
		return err
	}
	observe(r, m, whole, m.name+", unstructured", c.listUnstructured(configMaps, metav1.ListOptions{}))
	observe(r, m, names, m.name+", metadata", c.listMetadata(configMaps))
	return nil
}

// addWanderer makes an informer whose scope changes all the time; see wander.
func (r *run) addWanderer() error {
	var inf *kinform.Informer[*corev1.ConfigMap]
	list := func(ctx context.Context) (runtime.Object, error) {
		s := inf.Scope()
		switch {
		case s.Nothing:
			return &corev1.ConfigMapList{}, nil
		case len(s.Namespaces) == 0:
			s.Namespaces = []string{""}
		}
		return r.clients.listConfigMaps(s.Namespaces, metav1.ListOptions{LabelSelector: s.LabelSelector})(ctx)
	}
	made, m, err := join(r, part{name: "wanderer", list: list, rescoped: true}, labelsOf[*corev1.ConfigMap], nil)
	if err == nil {
		inf, r.wanderer = made, made
		r.members = append(r.members, m)
	}
	return err
}

// wander changes the wanderer's scope, all the time of one round.
func (r *run) wander(ctx context.Context, rng *rand.Rand) error {
	for r.wild.Load() && ctx.Err() == nil {
		var s kinform.Scope
		for _, ns := range namespaces {
			if rng.IntN(2) == 0 {
				s.Namespaces = append(s.Namespaces, ns)
			}
		}
		if rng.IntN(3) == 0 {
			s.LabelSelector = []string{"color=red", "color in (red, blue)", "color=red,size"}[rng.IntN(3)]
		}
		if rng.IntN(20) == 0 {
			s = kinform.Scope{Nothing: true}
		}
		if err := r.wanderer.SetScope(s); err != nil {
			return err
		}
		r.rescoped.Add(1)
		r.sleep(ctx, time.Duration(rng.IntN(200))*time.Millisecond)
	}
	return nil
}

// visitor is an informer that starts with a watch, and stays for one round.
func (r *run) visitor(round int) (*member, error) {
	list := r.clients.listConfigMaps([]string{""}, metav1.ListOptions{})
	_, m, err := join(r, part{name: "visitor", http1: round%2 == 0, options: kinform.Options{WatchList: true}, list: list}, labelsOf[*corev1.ConfigMap], nil)
	return m, err
}

// returner is an informer that stays for one round, is away in the next, whatever happens
// to the server meanwhile, and comes back with what is on its disk.
func (r *run) returner(round int) (*member, error) {
	if round%2 == 0 {
		return nil, nil
	}
	list := r.clients.listConfigMaps([]string{""}, metav1.ListOptions{})
	o := kinform.Options{Snapshot: kinform.SnapshotOptions{Dir: r.disk, Every: 10 * time.Millisecond}}
	inf, m, err := join(r, part{name: "returner", options: o, list: list}, labelsOf[*corev1.ConfigMap], nil)
	if err != nil {
		return nil, err
	}
	leave := m.leave
	m.leave = func() {
		leave()
		r.report.returned(inf.Status().Sources[0].Snapshot)
	}
	return m, nil
}

func add[T metav1.Object](r *run, p part, values func(T) []string, meddler func(*kinform.Informer[T], *atomic.Uint64) error) error {
	_, m, err := join(r, p, values, meddler)
	if err == nil {
		r.members = append(r.members, m)
	}
	return err
}

// join makes a member.
func join[T metav1.Object](r *run, p part, values func(T) []string, meddler func(*kinform.Informer[T], *atomic.Uint64) error) (*kinform.Informer[T], *member, error) {
	cfg, err := r.network.own(r.proxy.Config(), p.http1)
	if err != nil {
		return nil, nil, err
	}
	cfg.UserAgent = p.name
	o := p.options
	// Recovery takes milliseconds, so that there is time for many faults.
	o.Backoff = kinform.Backoff{First: 2 * time.Millisecond, Most: 100 * time.Millisecond}
	o.Silence, o.Poll = time.Second, 100*time.Millisecond
	o.MaxObjectSize = 256 << 10
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	inf, err := kinform.New[T](cfg, o)
	if err != nil {
		return nil, nil, err
	}
	m := r.member(p.name, native[T]{inf})
	m.rescoped = p.rescoped
	m.leave = func() { r.network.release(cfg) }
	c := observe(r, m, inf, p.name, p.list)
	byValues, err := inf.AddIndex("values", values)
	if err != nil {
		return nil, nil, err
	}
	check.Index(c, "values", byValues, values)
	m.residents(r)
	if meddler != nil {
		if err := meddler(inf, &m.meddled); err != nil {
			return nil, nil, err
		}
	}
	return inf, m, nil
}

// observe has a view of an informer checked and read.
func observe[T metav1.Object](r *run, m *member, inf *kinform.Informer[T], name string, list func(context.Context) (runtime.Object, error)) *check.Checker {
	c := check.New(inf, check.Options{Name: name, List: list, Verify: verify, Rescoped: m.rescoped, Keep: 10, OnViolation: r.violated})
	if len(m.checkers) > 0 { // a further view
		c.Subscribe(check.Subscriber{Name: "every", Look: 3})
		c.Subscribe(check.Subscriber{Name: "latest", Latest: true, Look: 2})
	}
	m.checkers = append(m.checkers, c)
	m.readers = append(m.readers, reader{name: name, verify: verify, get: func(key string) (metav1.Object, bool) {
		obj, err := inf.Lister().Get(key)
		return obj, err == nil
	}, all: objects(inf.Lister().All())})
	return c
}

func (r *run) member(name string, s subject) *member {
	r.report.Informers++
	return &member{name: name, informer: s, rng: rand.New(rand.NewPCG(r.Seed, uint64(r.report.Informers)+100))}
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

// native is an informer of package kinform.
type native[T any] struct{ *kinform.Informer[T] }

func (n native[T]) progress() (all []progress) {
	for _, s := range n.Status().Sources {
		cause := ""
		if s.Cause != nil {
			cause = s.Cause.Error()
		}
		p := progress{lists: s.Lists, watches: s.Watches, expired: s.Expired, epochs: s.Epochs,
			doing: doing(s.Source, s.State.String(), cause, s.Attempts, s.NextTry)}
		_, _ = fmt.Sscan(s.ResourceVersion, &p.version) // none is 0
		all = append(all, p)
	}
	return all
}
