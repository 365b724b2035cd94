package servers

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/apisim/aggregated"
	"github.com/kinform/kinform/apisim/front"
)

// namespace is where the story takes place.
const namespace = "default"

// Who asks, as the user agent.
const (
	storyteller = "story" // is not disturbed, and sees what the server has
	judge       = "judge" // is not disturbed, and sees what clients see
)

// world is a server as a row wants it, and those who write to it.
type world struct {
	row     Row
	server  *apisim.Server
	own     *aggregated.Server // nil: the objects are the server's
	two     [2]*apisim.Follower
	clients http.Handler // what the clients under test reach
	story   kubernetes.Interface
	judge   kubernetes.Interface
}

func newWorld(row Row) (*world, error) {
	w := &world{row: row}
	o := row.Server
	o.InMemory = true
	o.Front = w.front
	var err error
	if w.server, err = apisim.Start(o); err != nil {
		return nil, err
	}
	var direct http.Handler = w.server
	if row.Lagging {
		w.two = [2]*apisim.Follower{w.server.Follow(), w.server.Follow()}
		direct = front.Alternate(w.two[0], w.two[1])
	}
	if row.Aggregated != nil {
		w.own = aggregated.New(*row.Aggregated)
		direct = w.own.Front(direct)
	}
	if row.Rewrites != nil {
		direct = row.Rewrites(direct)
	}
	w.clients = direct
	if row.Front != nil {
		w.clients = row.Front(direct)
	}
	if w.story, err = w.client(storyteller); err != nil {
		return nil, err
	}
	w.judge, err = w.client(judge)
	return w, err
}

// config reaches the server on a new connection for each request: those that are
// open are cut when the server forgets.
func (w *world) config(who string) (*rest.Config, error) {
	c := w.server.Config()
	tlsConfig, err := rest.TLSConfigFor(c)
	c.UserAgent = who
	c.Transport = &http.Transport{DialContext: c.Dial, TLSClientConfig: tlsConfig, DisableKeepAlives: true}
	c.TLSClientConfig, c.Dial = rest.TLSClientConfig{}, nil
	return c, err
}

func (w *world) client(who string) (kubernetes.Interface, error) {
	c, err := w.config(who)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(c)
}

// front sends each request where it belongs.
func (w *world) front(server http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.UserAgent() == storyteller:
			server.ServeHTTP(rw, r)
		case r.UserAgent() == judge && w.row.Rewrites != nil:
			w.row.Rewrites(server).ServeHTTP(rw, r)
		case r.UserAgent() == judge:
			server.ServeHTTP(rw, r)
		default:
			w.clients.ServeHTTP(rw, r)
		}
	})
}

// list is what the caches are compared with.
func (w *world) list(ctx context.Context) (runtime.Object, error) {
	if w.own == nil {
		return w.judge.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
	}
	list := &corev1.ConfigMapList{}
	for _, u := range w.own.List().Items {
		var o corev1.ConfigMap
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &o); err != nil {
			return nil, err
		}
		list.Items = append(list.Items, o)
	}
	return list, nil
}

// put creates an object or gives it new content.
func (w *world) put(ctx context.Context, name string, n int) error {
	o := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Data:       map[string]string{"n": fmt.Sprint(n), "text": `some "text", with {signs}`},
	}
	if w.own != nil {
		return w.own.Put(o)
	}
	maps := w.story.CoreV1().ConfigMaps(namespace)
	_, err := maps.Create(ctx, o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = maps.Update(ctx, o, metav1.UpdateOptions{})
	}
	return err
}

func (w *world) remove(ctx context.Context, name string) error {
	if w.own != nil {
		w.own.Delete(namespace, name)
		return nil
	}
	return w.story.CoreV1().ConfigMaps(namespace).Delete(ctx, name, metav1.DeleteOptions{})
}

// forget ends all watches and has the server forget what was, so that clients
// must list.
func (w *world) forget() {
	if w.own != nil {
		w.own.Forget()
		return
	}
	for _, f := range w.two {
		if f != nil {
			f.ForgetHistory()
		}
	}
	w.server.ForgetHistory()
	w.server.Restart()
}

// lag has one of two servers lag, or, with -1, none.
func (w *world) lag(which int) {
	for i, f := range w.two {
		switch {
		case f == nil:
		case i == which:
			f.Hold()
		default:
			f.Release()
		}
	}
}
