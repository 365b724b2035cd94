package chaos

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/check"
	"github.com/kinform/kinform/dynamicinformer"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/metadatainformer"
)

// company is drop-in informers on one HTTP client: those of one resource stand on
// one engine, as long as one of them runs. They come and go.
type company struct {
	typed    kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
}

// role says which informer a drop-in is.
type role struct {
	name      string
	transform bool
	make      func(cache.TransformFunc) (cache.SharedIndexInformer, error)
	list      func(context.Context) (runtime.Object, error)
}

// hire makes the drop-ins.
func (r *run) hire() error {
	cfg, err := r.network.own(r.mild.Config(), false)
	if err != nil {
		return err
	}
	cfg.UserAgent = "drop-ins"
	cfg.QPS = -1
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return err
	}
	c := &company{}
	if c.typed, err = kubernetes.NewForConfigAndClient(cfg, client); err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(cfg, client); err != nil {
		return err
	}
	if c.metadata, err = metadata.NewForConfigAndClient(cfg, client); err != nil {
		return err
	}
	for _, role := range c.roles(r.clients) {
		m, err := r.employ(role)
		if err != nil {
			return err
		}
		r.members = append(r.members, m)
	}
	return nil
}

// roles are typed, dynamic and metadata informers of the same objects, with
// transforms and without.
func (c *company) roles(direct *clients) []role {
	everything := metav1.ListOptions{}
	plain := direct.listConfigMaps([]string{""}, everything)
	whole := direct.listUnstructured(gizmos, everything)
	return []role{
		{"drop-in: config maps", false, c.configMaps, plain},
		{"drop-in: config maps, transformed", true, c.configMaps, plain},
		{"drop-in: config maps, dynamic", false, c.dynamicConfigMaps, direct.listUnstructured(configMaps, everything)},
		{"drop-in: config maps, metadata", false, c.configMapMetadata, direct.listMetadata(configMaps)},
		{"drop-in: pods of a namespace, transformed", true, c.pods, direct.listPods(namespaces[1:2], everything)},
		{"drop-in: gizmos", false, c.gizmos, whole},
		{"drop-in: gizmos, transformed", true, c.gizmos, whole},
	}
}

func (c *company) configMaps(t cache.TransformFunc) (cache.SharedIndexInformer, error) {
	f := informers.NewSharedInformerFactoryWithOptions(c.typed, 0, informers.WithTransform(t))
	return f.Core().V1().ConfigMaps().Informer(), nil
}

func (c *company) pods(t cache.TransformFunc) (cache.SharedIndexInformer, error) {
	f := informers.NewSharedInformerFactoryWithOptions(c.typed, 2*time.Second, informers.WithTransform(t), informers.WithNamespace(namespaces[1]))
	g, err := f.ForResource(pods)
	if err != nil {
		return nil, err
	}
	return g.Informer(), nil
}

func (c *company) dynamicConfigMaps(cache.TransformFunc) (cache.SharedIndexInformer, error) {
	return dynamicinformer.NewDynamicSharedInformerFactory(c.dynamic, 0).ForResource(configMaps).Informer(), nil
}

func (c *company) gizmos(t cache.TransformFunc) (cache.SharedIndexInformer, error) {
	inf := dynamicinformer.NewDynamicSharedInformerFactory(c.dynamic, 0).ForResource(gizmos).Informer()
	if t == nil {
		return inf, nil
	}
	return inf, inf.SetTransform(t)
}

func (c *company) configMapMetadata(cache.TransformFunc) (cache.SharedIndexInformer, error) {
	return metadatainformer.NewSharedInformerFactory(c.metadata, 0).ForResource(configMaps).Informer(), nil
}

// employ makes the member of a role.
func (r *run) employ(as role) (*member, error) {
	var t cache.TransformFunc
	o := check.Options{Name: as.name, List: as.list, Verify: verify, Keep: 10, OnViolation: r.violated}
	if as.transform {
		t, o.Verify, o.Equal = transform, verifyTransformed, equalTransformed
	}
	inf, err := as.make(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", as.name, err)
	}
	if err := inf.AddIndexers(cache.Indexers{"values": indexedLabels}); err != nil {
		return nil, fmt.Errorf("%s: %w", as.name, err)
	}
	// Faults are what this is about; nobody needs to read of each.
	if err := inf.SetWatchErrorHandlerWithContext(ignoreWatchError); err != nil {
		return nil, fmt.Errorf("%s: %w", as.name, err)
	}
	s := dropin{inf}
	o.Epochs = func() (n uint64) {
		for _, p := range s.progress() {
			n += p.epochs
		}
		return n
	}
	m := r.member(as.name, s)
	m.again = func() (*member, error) { return r.employ(as) }
	c := check.NewShared(inf, o)
	m.checkers = append(m.checkers, c)
	c.Subscribe(check.Subscriber{Name: "every", Look: 3})
	c.Subscribe(check.Subscriber{Name: "reminded", Resync: time.Second, Look: 16})
	c.Subscribe(check.Subscriber{Name: "slow", Look: 2, Then: blocks(r, 100, 300*time.Millisecond)})
	m.readers = append(m.readers, s.reader(as.name, o.Verify))
	return m, nil
}

func ignoreWatchError(context.Context, *clientgo.Reflector, error) {}

func indexedLabels(obj any) ([]string, error) {
	if o, ok := obj.(metav1.Object); ok {
		return labelsOf(o), nil
	}
	return nil, fmt.Errorf("%T has no labels", obj)
}

// dropin is a shared informer.
type dropin struct{ inf cache.SharedIndexInformer }

func (d dropin) Run(ctx context.Context) error {
	d.inf.RunWithContext(ctx)
	return nil
}

func (d dropin) progress() (all []progress) {
	for _, s := range cache.Describe(d.inf).Status.Sources {
		p := progress{lists: s.Lists, watches: s.Watches, expired: s.Expired, epochs: s.Epochs,
			doing: doing(s.Source, s.State, s.Cause, s.Attempts, s.NextTry)}
		_, _ = fmt.Sscan(s.Version, &p.version) // none is 0
		all = append(all, p)
	}
	return all
}

func (d dropin) reader(name string, verify func(metav1.Object) error) reader {
	return reader{name: name, verify: verify,
		get: func(key string) (metav1.Object, bool) {
			obj, ok, err := d.inf.GetIndexer().GetByKey(key)
			if err != nil || !ok {
				return nil, false
			}
			o, ok := obj.(metav1.Object)
			return o, ok
		},
		all: func(yield func(metav1.Object) bool) {
			for _, obj := range d.inf.GetIndexer().List() {
				if o, ok := obj.(metav1.Object); ok && !yield(o) {
					return
				}
			}
		},
	}
}
