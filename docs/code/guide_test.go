package code

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/predicate"
)

// TestGuide runs each recipe of docs/guide.md.
func TestGuide(t *testing.T) {
	for name, recipe := range map[string]func(context.Context, *rest.Config) error{
		"views": views, "fields": fields, "filter": filter, "lists": lists, "latest": latest,
		"own writes": ownWrites, "noted writes": notedWrites, "leases": leases,
		"scope": scope, "verify": verify, "replay": replay, "status": status, "optional": optional, "custom": custom,
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(t)
			createPod(t, server, "web", "node-7")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := recipe(ctx, server.Config()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// started is an informer of pods that is synced.
func started(ctx context.Context, cfg *rest.Config) (*kinform.Informer[*corev1.Pod], error) {
	pods, err := kinform.New[*corev1.Pod](cfg, kinform.Options{})
	if err != nil {
		return nil, err
	}
	go pods.Run(ctx)
	return pods, pods.WaitSynced(ctx)
}

func views(ctx context.Context, cfg *rest.Config) error {
	pods, err := started(ctx, cfg)
	if err != nil {
		return err
	}
	metadata, err := kinform.View[*metav1.PartialObjectMetadata](pods)
	if err != nil {
		return err
	}
	maps, err := kinform.View[*unstructured.Unstructured](pods)
	if err != nil {
		return err
	}
	if _, err := metadata.Lister().Get("default/web"); err != nil {
		return err
	}
	_, err = maps.Lister().Get("default/web")
	return err
}

type placed struct {
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
}

func fields(ctx context.Context, cfg *rest.Config) error {
	pods, err := started(ctx, cfg)
	if err != nil {
		return err
	}
	node, err := kinform.FieldOf[string](pods, "spec.nodeName")
	if err != nil {
		return err // says what may have been meant
	}
	count := map[string]int{}
	for pod := range pods.Lister().Records(nil) {
		count[node.Get(pod)]++
	}
	where, err := kinform.View[*placed](pods)
	if err != nil {
		return err
	}
	pod, err := where.Lister().Get("default/web")
	if err != nil {
		return err
	}
	if count[pod.Spec.NodeName] != 1 {
		return fmt.Errorf("counted %v", count)
	}
	return nil
}

func filter(ctx context.Context, cfg *rest.Config) error {
	pods, err := started(ctx, cfg)
	if err != nil {
		return err
	}
	placed, err := pods.Filter(predicate.Changed("spec.nodeName"), predicate.ConditionBecame("Ready", "True"))
	if err != nil {
		return err
	}
	sub := pods.Subscribe(func(ctx context.Context, ev kinform.Event[*corev1.Pod]) {
		fmt.Println(ev.Type, ev.Key)
	}, kinform.SubscribeOptions{Name: "placed", Filter: placed})
	return sub.WaitSynced(ctx)
}

func lists(ctx context.Context, cfg *rest.Config) error {
	pods, err := started(ctx, cfg)
	if err != nil {
		return err
	}
	pod, err := pods.Lister().Get("default/web")
	if err != nil {
		return err // apierrors.IsNotFound knows it
	}
	web := labels.SelectorFromSet(labels.Set{"app": "web"})
	for key, pod := range pods.Lister().Namespace("default").Select(web) {
		fmt.Println(key, pod.Spec.NodeName)
	}
	changed := pod.DeepCopy() // it is shared with other readers
	changed.Labels["seen"] = "true"
	return nil
}

func latest(ctx context.Context, cfg *rest.Config) error {
	pods, err := started(ctx, cfg)
	if err != nil {
		return err
	}
	sub := pods.Subscribe(func(ctx context.Context, ev kinform.Event[*corev1.Pod]) {
		fmt.Println(ev.Key, "is", ev.Type)
	}, kinform.SubscribeOptions{Name: "newest", Latest: true})
	return sub.WaitSynced(ctx)
}

func ownWrites(ctx context.Context, cfg *rest.Config) error {
	pods, err := started(ctx, cfg)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	created, err := client.CoreV1().Pods("default").Create(ctx, newPod("db", "node-1"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := pods.WaitForObject(ctx, created); err != nil {
		return err
	}
	_, err = pods.Lister().Get("default/db") // it is there
	return err
}

func notedWrites(ctx context.Context, cfg *rest.Config) error {
	var writes kinform.Writes
	cfg.Wrap(writes.Wrap) // before any client is made
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	pods, err := started(ctx, cfg)
	if err != nil {
		return err
	}
	if err := client.CoreV1().Pods("default").Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := pods.WaitForWrites(ctx, &writes); err != nil {
		return err
	}
	_, err = pods.Lister().Get("default/web") // as it is after the deletion
	_ = err
	return nil
}

func leases(ctx context.Context, cfg *rest.Config) error {
	factory, err := kinform.NewFactory(cfg, kinform.Options{})
	if err != nil {
		return err
	}
	if err := factory.Start(ctx); err != nil {
		return err
	}
	defer factory.Shutdown()
	return countPods(ctx, factory)
}

func countPods(ctx context.Context, factory *kinform.Factory) error {
	pods, err := kinform.Acquire[*corev1.Pod](factory, kinform.Options{})
	if err != nil {
		return err
	}
	defer pods.Release() // the last one ends the watch and frees the memory
	if err := pods.WaitSynced(ctx); err != nil {
		return err
	}
	fmt.Println(pods.Lister().Len(), "pods")
	return nil
}

func scope(ctx context.Context, cfg *rest.Config) error {
	pods, err := started(ctx, cfg)
	if err != nil {
		return err
	}
	err = pods.SetScope(kinform.Scope{Namespaces: []string{"default", "shop"}, LabelSelector: "app=web"})
	if err != nil {
		return err
	}
	return pods.WaitSynced(ctx) // all of the new scope is there
}

func verify(ctx context.Context, cfg *rest.Config) error {
	pods, err := started(ctx, cfg)
	if err != nil {
		return err
	}
	found, err := pods.Verify(ctx)
	if err != nil {
		return err
	}
	fmt.Println(found) // "1 objects, no difference"
	return nil
}

func replay(ctx context.Context, cfg *rest.Config) error {
	pods, err := started(ctx, cfg)
	if err != nil {
		return err
	}
	sub := pods.Subscribe(func(ctx context.Context, ev kinform.Event[*corev1.Pod]) {
		fmt.Println(ev.Type, ev.Key)
	}, kinform.SubscribeOptions{Name: "replayed"})
	n, err := sub.Replay(ctx, kinform.ReplayOptions{Over: time.Second})
	fmt.Println("told of", n, "objects again")
	return err
}

func status(ctx context.Context, cfg *rest.Config) error {
	pods, err := started(ctx, cfg)
	if err != nil {
		return err
	}
	s := pods.Status()
	fmt.Println(s.State(), s.Objects, s.Memory.Mapped, s.Staleness())
	if cause := s.Cause(); cause != nil {
		fmt.Println(s.Reason(), cause)
	}
	fmt.Println(pods.Describe()) // the whole configuration and state; JSON, too
	return nil
}

func optional(ctx context.Context, cfg *rest.Config) error {
	backups, err := kinform.New[*unstructured.Unstructured](cfg, kinform.Options{
		Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "backups"},
		Policy:   kinform.PolicyOptional, // empty until it is served
	})
	if err != nil {
		return err
	}
	go backups.Run(ctx)
	return backups.WaitSynced(ctx)
}

// Backup is a custom resource: a plain struct, with the fields that the program reads.
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Schedule string `json:"schedule"`
	} `json:"spec"`
}

func custom(_ context.Context, cfg *rest.Config) error {
	backups, err := kinform.New[*Backup](cfg, kinform.Options{
		Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "backups"},
	})
	if err != nil {
		return err
	}
	_, err = backups.AddFieldIndex("schedule", "spec.schedule")
	return err
}

// TestWarmStart: the second start has what the first one read, before it asks.
func TestWarmStart(t *testing.T) {
	server, dir := newServer(t), t.TempDir()
	createPod(t, server, "web", "node-7")
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		ended, err := warm(ctx, server.Config(), dir)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		<-ended
	}
}

func warm(ctx context.Context, cfg *rest.Config, dir string) (<-chan error, error) {
	pods, err := kinform.New[*corev1.Pod](cfg, kinform.Options{
		Snapshot: kinform.SnapshotOptions{Dir: dir},
	})
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- pods.Run(ctx) }()
	<-pods.Readable() // at once, from disk; Status says how old it is
	for key := range pods.Lister().Keys(nil) {
		fmt.Println(key)
	}
	return ended, pods.WaitSynced(ctx) // the server has confirmed it
}
