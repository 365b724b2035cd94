package check_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/check"
	dropin "github.com/kinform/kinform/informers"
)

func serve(t *testing.T) (*apisim.Server, kubernetes.Interface, context.Context) {
	t.Helper()
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return server, client, ctx
}

// write creates, changes and deletes config maps.
func write(t *testing.T, ctx context.Context, client kubernetes.Interface, prefix string) {
	t.Helper()
	maps := client.CoreV1().ConfigMaps("default")
	for i := range 20 {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", prefix, i), Labels: map[string]string{"color": "red"}}}
		created, err := maps.Create(ctx, cm, metav1.CreateOptions{})
		if err == nil && i%2 == 0 {
			created.Labels["color"] = "blue"
			_, err = maps.Update(ctx, created, metav1.UpdateOptions{})
		}
		if err == nil && i%5 == 0 {
			err = maps.Delete(ctx, cm.Name, metav1.DeleteOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func color(cm *corev1.ConfigMap) []string { return []string{cm.Labels["color"]} }

func listAll(client kubernetes.Interface) func(context.Context) (runtime.Object, error) {
	return func(ctx context.Context) (runtime.Object, error) {
		return client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
	}
}

// TestInformer has every kind of subscriber at a healthy informer, through a cut
// and a restored backup.
func TestInformer(t *testing.T) {
	server, client, ctx := serve(t)
	inf, err := kinform.New[*corev1.ConfigMap](server.Config(), kinform.Options{Backoff: kinform.Backoff{First: time.Millisecond, Most: 10 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	c := check.New(inf, check.Options{List: listAll(client)})
	byColor, err := inf.AddIndex("color", color)
	if err != nil {
		t.Fatal(err)
	}
	check.Index(c, "color", byColor, color)
	run, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- inf.Run(run) }()
	c.Subscribe(check.Subscriber{Name: "every"})
	c.Subscribe(check.Subscriber{Name: "latest", Latest: true})
	c.Subscribe(check.Subscriber{Name: "panics", Then: func(context.Context, check.Event) { panic("on purpose") },
		OnPanic: func(string, any, []byte) {}})
	write(t, ctx, client, "a")
	compareNow(t, ctx, c)
	saved := server.Snapshot()
	write(t, ctx, client, "b")
	compareNow(t, ctx, c)
	server.Restore(saved)
	compareNow(t, ctx, c)
	if n := inf.Status().Sources[0].Epochs; n != 1 {
		t.Errorf("%d epochs, want 1", n)
	}
	var once *check.Subscription
	joined := make(chan struct{})
	stopped := make(chan struct{})
	once = c.Subscribe(check.Subscriber{Name: "stops itself", Then: func(context.Context, check.Event) {
		<-joined
		once.Stop()
		close(stopped)
	}})
	close(joined)
	<-stopped
	write(t, ctx, client, "c")
	compareNow(t, ctx, c)
	c.Stop()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := c.Err(); err != nil {
		t.Error(err)
	}
	if n := c.Delivered(); n.Changes == 0 || n.Initial == 0 {
		t.Errorf("too little was told: %+v", n)
	}
}

func compareNow(t *testing.T, ctx context.Context, c *check.Checker) {
	t.Helper()
	if err := c.Compare(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestShared checks the drop-in.
func TestShared(t *testing.T) {
	_, client, ctx := serve(t)
	factory := dropin.NewSharedInformerFactory(client, 0)
	inf := factory.Core().V1().ConfigMaps().Informer()
	err := inf.AddIndexers(cache.Indexers{"color": func(obj any) ([]string, error) { return color(obj.(*corev1.ConfigMap)), nil }})
	if err != nil {
		t.Fatal(err)
	}
	c := check.NewShared(inf, check.Options{List: listAll(client)})
	c.Subscribe(check.Subscriber{})
	run, stop := context.WithCancel(ctx)
	factory.Start(run.Done())
	write(t, ctx, client, "a")
	compareNow(t, ctx, c)
	write(t, ctx, client, "b")
	compareNow(t, ctx, c)
	c.Stop()
	stop()
	factory.Shutdown()
	if err := c.Err(); err != nil {
		t.Error(err)
	}
}
