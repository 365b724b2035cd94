package debug_test

import (
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/debug"
	"github.com/kinform/kinform/dynamicinformer"
	"github.com/kinform/kinform/informers"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// addSecretInformers adds informers of Secrets of every make.
func addSecretInformers(b *bench) (names []string) {
	typed := informer[*corev1.Secret](b, "typed", kinform.Options{})
	if _, err := typed.AddIndex("password", func(s *corev1.Secret) []string { return []string{string(s.Data["password"])} }); err != nil {
		b.Fatal(err)
	}
	informer[*unstructured.Unstructured](b, "unstructured", kinform.Options{Resource: secrets})
	informer[*metav1.PartialObjectMetadata](b, "metadata", kinform.Options{Resource: secrets})
	informer[*struct {
		Data map[string]string `json:"data"`
	}](b, "own", kinform.Options{Resource: secrets})

	factory := informers.NewSharedInformerFactory(b.client, 0)
	factory.Core().V1().Secrets().Informer()
	b.add("factory", factory)
	client, err := dynamic.NewForConfig(b.api.Config())
	if err != nil {
		b.Fatal(err)
	}
	loose := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	loose.ForResource(secrets)
	b.add("dynamic", loose)
	objects := cache.NewSharedIndexInformer(&cache.ListWatch{
		ListFunc: func(o metav1.ListOptions) (runtime.Object, error) {
			return b.client.CoreV1().Secrets("").List(b.Context(), o)
		},
		WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) {
			return b.client.CoreV1().Secrets("").Watch(b.Context(), o)
		},
	}, &corev1.Secret{}, 0, cache.Indexers{"password": func(obj any) ([]string, error) {
		return []string{string(obj.(*corev1.Secret).Data["password"])}, nil
	}})
	b.add("objects", objects)
	b.run(func(ctx context.Context) {
		factory.StartWithContext(ctx)
		loose.Start(ctx.Done())
		objects.RunWithContext(ctx)
		factory.Shutdown()
		loose.Shutdown()
	})
	factory.WaitForCacheSync(b.Context().Done())
	loose.WaitForCacheSync(b.Context().Done())
	cache.WaitForCacheSync(b.Context().Done(), objects.HasSynced)
	return []string{"typed", "unstructured", "metadata", "own", "factory/secrets", "dynamic/secrets", "objects"}
}

// TestSecretsNeverLeave looks for the values of a Secret in every view, of informers of
// every make, over its whole life.
func TestSecretsNeverLeave(t *testing.T) {
	b := newBench(t, debug.Options{})
	client := b.client.CoreV1().Secrets("default")
	create := func(name string) {
		_, err := client.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "shop"}, Annotations: map[string]string{
				"kubectl.kubernetes.io/last-applied-configuration": `{"stringData":{"password":"hunter2"}}`,
				"openshift.io/token-secret.value":                  "hunter2",
			}},
			Data: map[string][]byte{"password": []byte("hunter2"), "user": []byte("bob-the-user")},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	create("login")
	names := addSecretInformers(b)
	var streams []*stream
	for _, name := range names {
		streams = append(streams, b.open("live?i="+url.QueryEscape(name)))
	}
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for _, body := range []string{
		`{"data":{"password":"` + encode("correct-horse") + `"}}`,
		`{"data":{"token":"` + encode("t0ken-value") + `"}}`,
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"correct-horse"}}}`,
		`{"metadata":{"annotations":{"copy":"it is t0ken-value"}}}`,
		`{"metadata":{"labels":{"last":"one"}}}`,
	} {
		if _, err := client.Patch(t.Context(), "login", types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var all strings.Builder
	for i, s := range streams {
		s.await("metadata.labels")
		if text := s.seen.String(); names[i] != "metadata" && !strings.Contains(text, "data.token") {
			t.Errorf("%s: that a value came is not shown:\n%s", names[i], text)
		}
		all.WriteString(s.seen.String())
	}
	for _, name := range names {
		i := url.QueryEscape(name)
		for _, view := range []string{
			"", "overview.json", "informer?i=" + i, "informer.json?i=" + i, "changes.json?i=" + i,
			"objects?i=" + i, "objects.json?i=" + i, "objects.json?q=login&l=app%3Dshop&i=" + i,
			"object?key=default/login&i=" + i, "object.json?key=default/login&i=" + i, "object.yaml?key=default/login&i=" + i,
		} {
			text := b.see(view)
			if strings.HasPrefix(view, "object.yaml") && !strings.Contains(text, "name: login") {
				t.Errorf("%s is not there:\n%s", view, text)
			}
			all.WriteString(view + "\n" + text)
		}
		for _, view := range []string{"index?x=password&i=" + i, "index.json?x=password&i=" + i, "objects?x=password&v=correct-horse&i=" + i} {
			if code, text := b.get(view); code == 200 {
				t.Errorf("%s is shown:\n%s", view, text)
			}
		}
	}
	for _, value := range []string{"hunter2", "bob-the-user", "correct-horse", "t0ken-value"} {
		for _, form := range []string{value, encode(value), url.QueryEscape(encode(value))} {
			if _, after, found := strings.Cut(all.String(), form); found {
				t.Errorf("%q left, before %.200q", form, after)
			}
		}
	}
}

// TestConfigMapsAreShown: what is no Secret is shown whole, kubectl's copy included.
func TestConfigMapsAreShown(t *testing.T) {
	b := newBench(t, debug.Options{})
	_, err := b.client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"colour": "teal"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	informer[*corev1.ConfigMap](b, "configmaps", kinform.Options{})
	if text := b.see("object.yaml?i=configmaps&key=default/settings"); !strings.Contains(text, "colour: teal") || !strings.Contains(text, "kind: ConfigMap") {
		t.Errorf("got\n%s", text)
	}
}
