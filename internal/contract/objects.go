package contract

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"
)

// value is the field of a config map that the stories write.
const value = "value"

func (e *env) maps() v1.ConfigMapInterface { return e.kube.CoreV1().ConfigMaps(e.ns) }

// key is that of an object of the story.
func (e *env) key(name string) string { return e.ns + "/" + name }

func keyOf(o object) string { return o.Namespace + "/" + o.Name }

func configMap(name, v string) object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{value: v}}
}

func (e *env) create(name, v string) object {
	e.Helper()
	o, err := e.maps().Create(e.ctx, configMap(name, v), metav1.CreateOptions{})
	e.must(err, "creating "+name)
	return o
}

func (e *env) update(name, v string) object {
	e.Helper()
	o, err := e.maps().Update(e.ctx, configMap(name, v), metav1.UpdateOptions{})
	e.must(err, "updating "+name)
	return o
}

func (e *env) delete(name string) {
	e.Helper()
	e.must(e.maps().Delete(e.ctx, name, metav1.DeleteOptions{}), "deleting "+name)
}

// recreate deletes an object and creates another one of its name.
func (e *env) recreate(name, v string) object {
	e.Helper()
	e.delete(name)
	return e.create(name, v)
}

// names are n names with a prefix.
func names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%03d", prefix, i)
	}
	return all
}

// each does something for every name, several at a time.
func each(names []string, do func(name string)) {
	work := make(chan string)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for name := range work {
				do(name)
			}
		})
	}
	for _, name := range names {
		work <- name
	}
	close(work)
	workers.Wait()
}

// seed creates objects, all with one value.
func (e *env) seed(v string, names ...string) {
	e.Helper()
	each(names, func(name string) {
		if _, err := e.maps().Create(e.ctx, configMap(name, v), metav1.CreateOptions{}); err != nil {
			e.Errorf("creating %s: %v", name, err)
		}
	})
	e.stopIfFailed()
}

// updateAll writes a value into objects.
func (e *env) updateAll(v string, names ...string) {
	e.Helper()
	each(names, func(name string) {
		if _, err := e.maps().Update(e.ctx, configMap(name, v), metav1.UpdateOptions{}); err != nil {
			e.Errorf("updating %s: %v", name, err)
		}
	})
	e.stopIfFailed()
}

func (e *env) stopIfFailed() {
	e.Helper()
	if e.Failed() {
		e.FailNow()
	}
}

// list returns what the server has in the story's namespace, as of now, and its
// version.
func (e *env) list(o metav1.ListOptions) (objects map[string]object, version string) {
	e.Helper()
	l, err := e.maps().List(e.ctx, o)
	e.must(err, "listing")
	objects = map[string]object{}
	for i := range l.Items {
		item := &l.Items[i]
		item.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		objects[keyOf(item)] = item
	}
	return objects, l.ResourceVersion
}

// onServer returns what the server has in the story's namespace, as of now.
func (e *env) onServer() map[string]object {
	e.Helper()
	objects, _ := e.list(metav1.ListOptions{})
	return objects
}

// wantStore fails unless the store is equal to the server, object by object.
func (e *env) wantStore(inf *informer, server map[string]object) {
	e.Helper()
	got := maps.Collect(inf.Lister().All())
	for key, want := range server {
		switch have := got[key]; {
		case have == nil:
			e.Errorf("the store lacks %s", key)
		case !reflect.DeepEqual(have, want):
			e.Errorf("the store has %s@%s with %v, the server @%s with %v", key, have.ResourceVersion, have.Data, want.ResourceVersion, want.Data)
		}
	}
	for key := range got {
		if server[key] == nil {
			e.Errorf("the store has %s, the server has not", key)
		}
	}
	if n := inf.Lister().Len(); n != len(server) {
		e.Errorf("the store says that it has %d objects, the server has %d", n, len(server))
	}
}

// churn has writers create, update and delete the same few objects all at once.
type churn struct {
	e       *env
	names   []string
	writers int
	steps   int                // of each writer
	labels  func(object)       // optional: labels what is written
	after   func(total uint64) // optional: called after each step, by its writer
	total   atomic.Uint64
}

// run returns when all is written.
func (c *churn) run() {
	c.e.Helper()
	var writers sync.WaitGroup
	for i := range c.writers {
		writers.Go(func() {
			for n := range c.steps {
				if err := c.step(fmt.Sprintf("%d-%d", i, n)); err != nil {
					c.e.Errorf("writing: %v", err)
					return
				}
				total := c.total.Add(1)
				if c.after != nil {
					c.after(total)
				}
			}
		})
	}
	writers.Wait()
	c.e.stopIfFailed()
}

// step changes one object, whichever state it is in.
func (c *churn) step(v string) error {
	o := configMap(c.names[rand.IntN(len(c.names))], v)
	if c.labels != nil {
		c.labels(o)
	}
	maps := c.e.maps()
	if rand.IntN(5) == 0 {
		err := maps.Delete(c.e.ctx, o.Name, metav1.DeleteOptions{})
		return leaveOut(err, apierrors.IsNotFound, apierrors.IsConflict)
	}
	return retry.OnError(retry.DefaultRetry, elsewhere, func() error {
		_, err := maps.Update(c.e.ctx, o, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			_, err = maps.Create(c.e.ctx, o, metav1.CreateOptions{})
		}
		return err
	})
}

// elsewhere: another writer was quicker.
func elsewhere(err error) bool { return apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) }

func leaveOut(err error, fine ...func(error) bool) error {
	if slices.ContainsFunc(fine, func(f func(error) bool) bool { return f(err) }) {
		return nil
	}
	return err
}
