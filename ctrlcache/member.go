package ctrlcache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	dropins "github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// memberKey says which member: a kind in a form, in a scope of that kind.
type memberKey struct {
	form  form
	scope string
}

// member is an informer, which shares its watch and its store with those of the other
// forms.
type member struct {
	number   int // in the order in which they were made
	kind     *kind
	form     form
	scope    string
	informer toolscache.SharedIndexInformer
	records  dropin.Records
	share    bool // objects are given to callers without being copied

	refused refusal
	removed chan struct{}   // closed to end it
	ended   context.Context // done when it has ended, or will not be run
	end     context.CancelFunc
}

// member returns the member of a kind, a form and a scope; the first who asks has it
// made, and run if the cache runs.
func (c *informerCache) member(k *kind, f form, scope string) (*member, error) {
	key := memberKey{f, scope}
	if m := c.known(key); m != nil {
		return m, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[key]; m != nil {
		return m, nil
	}
	m, err := c.newMember(k, f, scope)
	if err != nil {
		return nil, err
	}
	c.made++
	m.number = c.made
	c.members[key] = m
	c.runLocked(m)
	return m, nil
}

func (c *informerCache) known(key memberKey) *member {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.members[key]
}

func (c *informerCache) newMember(k *kind, f form, scope string) (*member, error) {
	config := k.scopes[scope]
	lw, err := c.listWatch(k, f, scope, config)
	if err != nil {
		return nil, err
	}
	i := dropins.NewSharedIndexInformerWithOptions(lw, f.example(), dropins.SharedIndexInformerOptions{
		ResyncPeriod:      resyncPeriod(config.SyncPeriod),
		Indexers:          dropins.Indexers{dropins.NamespaceIndex: dropins.MetaNamespaceIndexFunc},
		ObjectDescription: lw.Query.String(),
	})
	if c.snapshot.Dir != "" {
		if err := dropins.SetSnapshot(i, c.snapshot); err != nil {
			return nil, err
		}
	}
	m := &member{
		kind: k, form: f, scope: scope, informer: i,
		records: i.GetIndexer().(dropin.Records),
		share:   config.UnsafeDisableDeepCopy != nil && *config.UnsafeDisableDeepCopy,
		refused: refusal{is: make(chan struct{})}, removed: make(chan struct{}),
	}
	m.ended, m.end = context.WithCancel(context.Background())
	if err := i.SetWatchErrorHandlerWithContext(m.reporting(c.options.DefaultWatchErrorHandler)); err != nil {
		return nil, err
	}
	if t := config.Transform; t != nil && !lw.DropManagedFields {
		if err := i.SetTransform(t); err != nil {
			return nil, err
		}
	}
	return m, nil
}

const namespaceField = "metadata.namespace"

// listWatch says what is listed and watched, and who may share it.
func (c *informerCache) listWatch(k *kind, f form, scope string, config cache.Config) (*dropin.ListWatch, error) {
	// One client for each: their rate limits are not for all kinds together.
	client, err := kube.NewClientOn(c.config, c.options.HTTPClient)
	if err != nil {
		return nil, err
	}
	q := kube.Query{Resource: k.resource}
	if config.LabelSelector != nil {
		q.LabelSelector = config.LabelSelector.String()
	}
	if config.FieldSelector != nil {
		q.FieldSelector = config.FieldSelector.String()
	}
	if k.namespaced {
		q.Namespace = narrowed(scope, config.FieldSelector)
	}
	lw := &dropin.ListWatch{
		Client: client, Decode: f.decode, Needs: f.needs(), Grows: true,
		DropManagedFields: stripsManagedFields(config.Transform),
	}
	variant := "grows"
	if lw.DropManagedFields {
		variant += ", without managedFields"
	}
	if config.EnableWatchBookmarks != nil && !*config.EnableWatchBookmarks {
		variant += ", without bookmarks"
		q.Tweak = func(o *metav1.ListOptions) { o.AllowWatchBookmarks = false }
	}
	lw.Query, lw.Share = q, dropin.ShareOf(client, q).Variant(variant)
	lw.Open = func(n dropin.Needs) engine.Source { return kube.NewSource(client, lw.Asked(n)) }
	return lw, nil
}

// narrowed returns the one namespace that is meant, if it is one: a user may be allowed
// to read that and no other.
func narrowed(scope string, selector fields.Selector) string {
	if scope == "" && selector != nil {
		scope, _ = selector.RequiresExactMatch(namespaceField)
	}
	return scope
}

// stripper is where the function stands that TransformStripManagedFields returns. Its
// address would not do: there is another copy of it wherever that call was inlined.
var stripper = writtenAt(cache.TransformStripManagedFields())

func stripsManagedFields(t toolscache.TransformFunc) bool {
	return t != nil && stripper != "" && writtenAt(t) == stripper
}

// writtenAt returns the file and the line of a function, or "" if they are not known.
func writtenAt(t toolscache.TransformFunc) string {
	pc := reflect.ValueOf(t).Pointer()
	f := runtime.FuncForPC(pc)
	if f == nil {
		return ""
	}
	file, line := f.FileLine(pc)
	return fmt.Sprintf("%s:%d", file, line)
}

// defaultSyncPeriod is controller-runtime's.
const defaultSyncPeriod = 10 * time.Hour

// resyncPeriod returns a period within a tenth of the one that was asked for, so that
// not all informers resync at the same time.
func resyncPeriod(asked *time.Duration) time.Duration {
	period := defaultSyncPeriod
	if asked != nil {
		period = *asked
	}
	return time.Duration(float64(period) * (0.9 + 0.2*rand.Float64()))
}

// run runs the informer until ctx ends or the member is removed.
func (m *member) run(ctx context.Context) {
	defer m.end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-m.removed:
			cancel()
		case <-ctx.Done():
		}
	}()
	m.informer.RunWithContext(logr.NewContext(ctx, cacheLog))
}

func (m *member) remove() { close(m.removed) }
