package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/check"
)

// readYourWrites: a read after a wait is not older than what was written.
const readYourWrites check.Rule = "read-your-writes"

// tenant acquires an informer, writes an object, waits, reads it back, and releases the
// informer, all the time. It reaches the server directly, as a proxy that has events
// change places makes versions a lie; what is done to the server happens to it, too.
type tenant struct {
	*run
	rng     *rand.Rand
	factory *kinform.Factory
	client  kubernetes.Interface
	writes  kinform.Writes
	name    string
}

// tenancy is a tenant's part of one round: what it has written may be lost in the next.
func (r *run) tenancy(ctx context.Context, rng *rand.Rand) error {
	cfg, err := r.network.own(r.Server.Config, false)
	if err != nil {
		return err
	}
	defer r.network.release(cfg)
	cfg.QPS = -1
	t := &tenant{run: r, rng: rng, name: "tenant"}
	t.factory, err = kinform.NewFactory(cfg, kinform.Options{
		Namespaces: namespaces[2:], Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Backoff: kinform.Backoff{First: 2 * time.Millisecond, Most: 100 * time.Millisecond},
	})
	if err != nil {
		return err
	}
	defer t.factory.Shutdown()
	if err := t.factory.Start(ctx); err != nil {
		return err
	}
	noted := *cfg
	noted.Wrap(t.writes.Wrap)
	if t.client, err = kubernetes.NewForConfig(&noted); err != nil {
		return err
	}
	for r.wild.Load() && ctx.Err() == nil {
		if err := t.lease(ctx); err != nil {
			return err
		}
	}
	return nil
}

// lease is one lease, for a few writes. Nobody promises that the server is there.
func (t *tenant) lease(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	l, err := kinform.Acquire[*corev1.ConfigMap](t.factory, kinform.Options{Grace: time.Duration(t.rng.IntN(2)) * 50 * time.Millisecond})
	if err != nil {
		return err
	}
	if l.WaitSynced(ctx) == nil {
		for range 1 + t.rng.IntN(10) {
			t.step(ctx, l)
		}
	}
	l.Release()
	if t.rng.IntN(2) == 0 {
		<-l.Done()
	}
	return nil
}

// step writes, waits and reads.
func (t *tenant) step(ctx context.Context, l *kinform.Lease[*corev1.ConfigMap]) {
	maps := t.client.CoreV1().ConfigMaps(namespaces[2])
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: t.name}, Data: map[string]string{"text": strconv.Itoa(t.rng.Int())}}
	key := namespaces[2] + "/" + t.name
	var now *corev1.ConfigMap
	var err error
	if gone := t.rng.IntN(5) == 0; gone {
		err = maps.Delete(ctx, t.name, metav1.DeleteOptions{})
	} else if now, err = maps.Update(ctx, o, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
		now, err = maps.Create(ctx, o, metav1.CreateOptions{})
	}
	if err != nil || l.WaitForWrites(ctx, &t.writes, key) != nil {
		return // the server is not there, or was not for long
	}
	held, err := l.Lister().Get(key)
	t.reads.Add(1)
	switch {
	case now == nil && errors.Is(err, kinform.ErrNotFound), now != nil && err == nil && versionOf(held) >= versionOf(now):
	case now == nil:
		t.stale(key, "nothing, as it was deleted", fmt.Sprint("@", versionOf(held), ", ", err))
	default:
		t.stale(key, "@"+now.ResourceVersion, fmt.Sprint("@", versionOf(held), ", ", err))
	}
}

func versionOf(o *corev1.ConfigMap) (n uint64) {
	if o != nil {
		n, _ = strconv.ParseUint(o.ResourceVersion, 10, 64)
	}
	return n
}

func (t *tenant) stale(key, want, got string) {
	t.found(check.Violation{Rule: readYourWrites, Informer: "config maps of the tenant", Key: key, Want: want, Got: got})
}

// verifier is an informer that can compare itself with the server.
type verifier interface {
	Verify(context.Context) (kinform.VerifyReport, error)
}

// verify has informers compare themselves, when all is quiet: they must find nothing.
func (r *run) verify(ctx context.Context) error {
	for _, m := range r.members {
		v, ok := m.informer.(verifier)
		if !ok || m.cancel == nil {
			continue
		}
		report, err := v.Verify(ctx)
		for err != nil && ctx.Err() == nil { // a connection may still be cut that was to be
			report, err = v.Verify(ctx)
		}
		if err != nil {
			return fmt.Errorf("verify %s: %w", m.name, err)
		}
		if report.Differences() > 0 {
			r.found(check.Violation{Rule: check.Store, Informer: m.name, Want: "no difference", Got: report.String()})
		}
		r.report.Verified++
	}
	return nil
}
