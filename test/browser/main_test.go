package browser

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/apisim/cluster"
	"github.com/kinform/kinform/debug"
)

var screenshots = flag.String("screenshots", "", "write screenshots to this folder")

// patience is for what never happens.
const patience = time.Minute

// executable finds the browser.
var executable = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("sh", "./browser.sh")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
})

// world is a living cluster with informers on a page.
type world struct {
	testing.TB
	api    *apisim.Server
	client kubernetes.Interface
	page   *debug.Handler
	url    string
}

func newWorld(t testing.TB, o cluster.Options, d debug.Options) (*world, *cluster.Cluster) {
	t.Helper()
	api, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.Close() })
	config := rest.CopyConfig(api.Config())
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, api: api, client: client, page: debug.New(d)}
	o.Load = api.Load
	living, err := cluster.New(api.Config(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := living.Populate(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(w.page)
	w.url = server.URL
	t.Cleanup(func() {
		w.page.Close()
		server.Close()
	})
	return w, living
}

// run runs something until the end of the test.
func (w *world) run(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	w.Cleanup(func() {
		cancel()
		<-done
	})
}

// informer puts an informer that runs onto the page.
func informer[T any](w *world, name string) *kinform.Informer[T] {
	w.Helper()
	inf, err := kinform.New[T](w.api.Config(), kinform.Options{})
	if err != nil {
		w.Fatal(err)
	}
	if err := w.page.Add(name, inf); err != nil {
		w.Fatal(err)
	}
	w.run(func(ctx context.Context) { _ = inf.Run(ctx) })
	return inf
}

// shop is a world with informers that work, and one that is refused.
func shop(t testing.TB) *world {
	t.Helper()
	w, living := newWorld(t, cluster.Options{Objects: 600, Rate: 40, Seed: 7}, debug.Options{Title: "shop-controller"})
	w.run(func(ctx context.Context) {
		if _, err := living.Run(ctx); err != nil {
			t.Errorf("the cluster died: %v", err)
		}
	})
	_, err := w.client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "login"}, Data: map[string][]byte{"password": []byte("hunter2")},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.api.Inject(apisim.Fault{Match: apisim.Match{Resource: "configmaps"}, Status: http.StatusForbidden})
	pods := informer[*corev1.Pod](w, "pods")
	if _, err := pods.AddFieldIndex("node", "spec.nodeName"); err != nil {
		t.Fatal(err)
	}
	pods.Subscribe(func(context.Context, kinform.Event[*corev1.Pod]) {}, kinform.SubscribeOptions{Name: "reconciler"})
	informer[*appsv1.Deployment](w, "deployments")
	informer[*corev1.Node](w, "nodes")
	informer[*corev1.Event](w, "events")
	informer[*corev1.Secret](w, "secrets")
	informer[*corev1.ConfigMap](w, "configmaps")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := pods.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	return w
}

// browser is a tab of a browser.
type browser struct {
	testing.TB
	ctx context.Context
	url string

	mu    sync.Mutex
	wrong []string // what the page should not have done
}

// open starts a browser. At its end, the page has asked for nothing elsewhere, and
// complained of nothing.
func (w *world) open() *browser {
	w.Helper()
	path, err := executable()
	if err != nil {
		w.Fatalf("no browser: %v", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 800))
	allocated, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocated)
	b := &browser{TB: w.TB, ctx: ctx, url: w.url}
	if err := chromedp.Do(ctx, command(network.Enable, network.EnableParams{}), command(log.Enable, cdp.Empty{})); err != nil {
		w.Fatal(err)
	}
	var watching sync.WaitGroup
	listen(b, &watching, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) string {
		if strings.HasPrefix(e.Request.URL, b.url+"/") {
			return ""
		}
		return "it asked for " + e.Request.URL
	})
	listen(b, &watching, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) string {
		return "an exception: " + e.ExceptionDetails.Text
	})
	listen(b, &watching, log.EntryAdded, func(e log.EventEntryAdded) string {
		if e.Entry.Level != log.EntryLevelError {
			return ""
		}
		return "an error: " + e.Entry.Text
	})
	w.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		cancel()
		end()
		watching.Wait()
		for _, text := range b.wrong {
			w.Errorf("the page: %s", text)
		}
	})
	return b
}

// listen notes what a page must not do.
func listen[E any](b *browser, watching *sync.WaitGroup, event cdp.Event[E], wrong func(E) string) {
	events := chromedp.Events(b.ctx, event)
	watching.Go(func() {
		for e, err := range events {
			if err != nil {
				return
			}
			if text := wrong(e); text != "" {
				b.mu.Lock()
				b.wrong = append(b.wrong, text)
				b.mu.Unlock()
			}
		}
	})
}

// command is a command of the protocol, as an action.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// do does things in the tab.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.Fatalf("%v\n%s", err, b.text())
	}
}

// visit opens a view.
func (b *browser) visit(path string) {
	b.Helper()
	b.do(chromedp.Navigate(b.url + "/" + path))
}

// until waits for a condition in the page, or in the next one that it leads to.
func (b *browser) until(condition string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		if is, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+condition+")")); err == nil && is {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			b.Fatalf("it never came true: %s\n%s", condition, b.text())
		}
	}
}

// eval returns the value of an expression.
func eval[T any](b *browser, expression string) T {
	b.Helper()
	return run(b, chromedp.Evaluate[T](expression))
}

// run does something in the tab, and returns what that gives.
func run[T any](b *browser, action chromedp.Action[T]) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.Fatalf("%v\n%s", err, b.text())
	}
	return v
}

// text is what the page shows, for messages.
func (b *browser) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText.slice(0, 3000)"))
	if err != nil {
		return fmt.Sprint("the page cannot be read: ", err)
	}
	return text
}

// shoot writes a screenshot, if that was asked for.
func (b *browser) shoot(name string) {
	b.Helper()
	if *screenshots == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), run(b, chromedp.CaptureScreenshot()), 0o644); err != nil {
		b.Fatal(err)
	}
}
