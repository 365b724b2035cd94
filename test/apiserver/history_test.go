package apiserver

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// A past is a version and a continue token to come back to.
type past struct{ version, token string }

func listConfigMaps(t *testing.T, client kubernetes.Interface) past {
	t.Helper()
	list, err := client.CoreV1().ConfigMaps("").List(limited(t), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if list.Continue == "" {
		t.Fatal("the list of config maps has no second page")
	}
	return past{list.ResourceVersion, list.Continue}
}

func TestForgetHistory(t *testing.T) {
	s := Shared(t)
	ctx := limited(t)
	client := connect(t, s.Config())
	configMaps := client.CoreV1().ConfigMaps("")
	createConfigMap(t, client, "forget-1")
	createConfigMap(t, client, "forget-2")
	before := listConfigMaps(t, client)
	createConfigMap(t, client, "forget-3")

	goBack := func() map[string]error {
		_, next := configMaps.List(ctx, metav1.ListOptions{Limit: 1, Continue: before.token})
		_, exact := configMaps.List(ctx, metav1.ListOptions{ResourceVersion: before.version, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		_, events := firstEvent(ctx, configMaps.Watch, before.version)
		return map[string]error{"continue": next, "exact list": exact, "watch": events}
	}
	for what, err := range goBack() {
		if err != nil {
			t.Errorf("%s before: %v", what, err)
		}
	}
	if err := s.ForgetHistory(ctx); err != nil {
		t.Fatal(err)
	}
	for what, err := range goBack() {
		if !apierrors.IsResourceExpired(err) {
			t.Errorf("%s after: %v, want 410 Expired", what, err)
		}
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(ctx, "forget-3", metav1.GetOptions{}); err != nil {
		t.Errorf("an object was forgotten: %v", err)
	}
}

// A version is old from the very moment of the compaction, even when nothing
// was written between the list that gave it and the compaction.
func TestForgetHistoryIncludesThePresentVersion(t *testing.T) {
	s := Shared(t)
	ctx := limited(t)
	client := connect(t, s.Config())
	list, err := client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ForgetHistory(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := firstEvent(ctx, client.CoreV1().ConfigMaps("").Watch, list.ResourceVersion); !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v, want 410 Expired", err)
	}
}

// What the comment of Compact promises: without its watch cache a resource
// loses its past at once, with it a watch does not notice.
func TestCompactReachesWhatIsNotCached(t *testing.T) {
	s := start(t, Options{APIServerFlags: []string{"--watch-cache-sizes=secrets#0"}})
	ctx := limited(t)
	client := connect(t, s.Config())
	secrets := client.CoreV1().Secrets("default")
	for _, name := range []string{"a", "b"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := secrets.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.List(ctx, metav1.ListOptions{Limit: 1, Continue: list.Continue}); !apierrors.IsResourceExpired(err) {
		t.Errorf("continue a list of secrets: %v, want 410 Expired", err)
	}
	if _, err := firstEvent(ctx, secrets.Watch, list.ResourceVersion); !apierrors.IsResourceExpired(err) {
		t.Errorf("watch secrets: %v, want 410 Expired", err)
	}
	createConfigMap(t, client, "after")
	event, err := firstEvent(ctx, client.CoreV1().ConfigMaps("default").Watch, list.ResourceVersion)
	if err != nil {
		t.Fatalf("watch config maps: %v, want them from the watch cache", err)
	}
	if got := event.Object.(*corev1.ConfigMap).Name; event.Type != watch.Added || got != "after" {
		t.Errorf("watch config maps: %s %s first, want ADDED after", event.Type, got)
	}
}

// firstEvent watches from a version and gives what comes first. A server tells
// of an old version in an event, where others have the object; here it is the
// error.
func firstEvent(ctx context.Context, start func(context.Context, metav1.ListOptions) (watch.Interface, error), version string) (watch.Event, error) {
	w, err := start(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return watch.Event{}, err
	}
	defer w.Stop()
	select {
	case event, ok := <-w.ResultChan():
		if !ok {
			return event, errors.New("the watch ended without an event")
		}
		if event.Type == watch.Error {
			return event, apierrors.FromObject(event.Object)
		}
		return event, nil
	case <-ctx.Done():
		return watch.Event{}, ctx.Err()
	}
}
