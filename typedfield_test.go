package kinform_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/objects"
)

// A field is read without decoding the object.
func ExampleFieldOf() {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	createPod(ctx, server, "web", "node-7")

	pods, err := kinform.New[*corev1.Pod](server.Config(), kinform.Options{})
	if err != nil {
		log.Fatal(err)
	}
	node, err := kinform.FieldOf[string](pods, "spec.nodeName")
	if err != nil {
		log.Fatal(err)
	}
	go pods.Run(ctx)
	if err := pods.WaitSynced(ctx); err != nil {
		log.Fatal(err)
	}
	for pod := range pods.Lister().Records(nil) {
		fmt.Println(pod.Key(), "is on", node.Get(pod))
	}
	_, err = kinform.FieldOf[string](pods, "spec.nodename")
	fmt.Println(err)
	// Output:
	// default/web is on node-7
	// kinform: pods: path "spec.nodename": v1.PodSpec has no field "nodename"; did you mean nodeName?
}

// loaded starts a server with some pods.
func loaded(t testing.TB, count int) (*apisim.Server, []*corev1.Pod) {
	t.Helper()
	server := startSim(t, apisim.Options{})
	pods := slices.Collect(objects.New(objects.Options{Seed: 5}).Pods(count))
	err := server.Load(func(yield func(runtime.Object) bool) {
		for _, pod := range pods {
			if !yield(pod) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return server, pods
}

// run runs an informer until the test ends, and waits until it has synced.
func run[T any](t testing.TB, inf *kinform.Informer[T]) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	done := make(chan error, 1)
	go func() { done <- inf.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if err := inf.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

func fieldOf[V kinform.FieldValue, T any](t testing.TB, inf *kinform.Informer[T], path string) kinform.TypedField[T, V] {
	t.Helper()
	f, err := kinform.FieldOf[V](inf, path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// describeFields reads fields of every record of an informer.
func describeFields[T any](t *testing.T, inf *kinform.Informer[T]) map[string]string {
	node, labels := fieldOf[string](t, inf, "spec.nodeName"), fieldOf[map[string]string](t, inf, "metadata.labels")
	created, grace := fieldOf[time.Time](t, inf, "metadata.creationTimestamp"), fieldOf[int64](t, inf, "spec.terminationGracePeriodSeconds")
	links, images := fieldOf[bool](t, inf, "spec.enableServiceLinks"), fieldOf[[]string](t, inf, "spec.containers.image")
	ready := fieldOf[string](t, inf, "status.conditions[?(@.type=='Ready')].status")
	all := map[string]string{}
	for r := range inf.Lister().Records(nil) {
		seconds, hasGrace := grace.Lookup(r)
		on, hasLinks := links.Lookup(r)
		all[r.Key()] = fmt.Sprint(node.Get(r), labels.Get(r), created.Get(r).UTC(), seconds, hasGrace, on, hasLinks, images.Get(r), ready.Get(r))
	}
	return all
}

// TestTypedFields: fields have the values that decoded objects have, whatever the objects
// are held and read as, and nothing is decoded for them.
func TestTypedFields(t *testing.T) {
	server, pods := loaded(t, 200)
	want := map[string]string{}
	for _, p := range pods {
		grace, links := p.Spec.TerminationGracePeriodSeconds, p.Spec.EnableServiceLinks
		var images []string
		for _, c := range p.Spec.Containers {
			images = append(images, c.Image)
		}
		var ready corev1.ConditionStatus
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady {
				ready = c.Status
			}
		}
		want[p.Namespace+"/"+p.Name] = fmt.Sprint(p.Spec.NodeName, p.Labels, p.CreationTimestamp.UTC(), orZero(grace), grace != nil,
			orZero(links), links != nil, images, ready)
	}
	for name, o := range map[string]kinform.Options{"protobuf": {}, "JSON": {JSON: true}} {
		t.Run(name, func(t *testing.T) {
			typed, err := kinform.New[*corev1.Pod](server.Config(), o)
			if err != nil {
				t.Fatal(err)
			}
			loose, err := kinform.View[*unstructured.Unstructured](typed)
			if err != nil {
				t.Fatal(err)
			}
			lite, err := kinform.View[*podLite](typed)
			if err != nil {
				t.Fatal(err)
			}
			run(t, typed)
			for name, got := range map[string]map[string]string{
				"typed": describeFields(t, typed), "unstructured": describeFields(t, loose), "projected": describeFields(t, lite),
			} {
				for key := range want {
					if got[key] != want[key] || len(got) != len(want) {
						t.Fatalf("%s: %s of %d:\n%s\nwant %s", name, key, len(got), got[key], want[key])
					}
				}
			}
			if m := typed.Status().Memory; m.Passing+m.Kept != 0 {
				t.Errorf("%d bytes are decoded", m.Passing+m.Kept)
			}
		})
	}
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// TestFieldsOfEvents: the old and the new state are read.
func TestFieldsOfEvents(t *testing.T) {
	server := startSim(t, apisim.Options{})
	inf, err := kinform.New[*corev1.ConfigMap](server.Config(), kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, immutable := fieldOf[string](t, inf, "data.a"), fieldOf[bool](t, inf, "immutable")
	told := make(chan string, 10)
	inf.Subscribe(func(_ context.Context, e kinform.Event[*corev1.ConfigMap]) {
		_, had := immutable.Lookup(e.OldRecord())
		_, has := immutable.Lookup(e.NewRecord())
		told <- fmt.Sprintf("%s %q to %q, %t to %t, %t, changed %t, new %t", e.Type, a.Old(e), a.New(e), had, has,
			e.NewRecord().Has(immutable.Field), e.Changed(a.Field), e.OldRecord().IsZero())
	}, kinform.SubscribeOptions{})
	ctx := run(t, inf)
	client := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
	m, err := client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"a": "1"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	no := false
	m.Data["a"], m.Immutable = "2", &no
	if _, err := client.Update(ctx, m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(ctx, "m", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`added "" to "1", false to false, false, changed true, new true`,
		`updated "1" to "2", false to true, true, changed true, new false`,
		`deleted "2" to "2", true to true, true, changed true, new false`,
	} {
		if got := <-told; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestRecords: the ways to records lead to the same objects, and the zero one to none.
func TestRecords(t *testing.T) {
	server, pods := loaded(t, 30)
	inf, err := kinform.New[*corev1.Pod](server.Config(), kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	byPhase, err := inf.AddFieldIndex("phase", "status.phase")
	if err != nil {
		t.Fatal(err)
	}
	run(t, inf)
	pod := pods[3]
	r, ok := inf.Lister().Namespace(pod.Namespace).Record(pod.Name)
	obj, err := r.Object()
	if !ok || err != nil || obj.Name != pod.Name || r.Name() != pod.Name || r.Namespace() != pod.Namespace || r.UID() != string(pod.UID) ||
		r.Labels().Get("app") != pod.Labels["app"] || r.ResourceVersion() != obj.ResourceVersion || len(r.Bytes()) == 0 {
		t.Errorf("%t, %v, %s %s %s %s", ok, err, r.Key(), r.UID(), r.ResourceVersion(), r.Labels().Map())
	}
	found := 0
	for r := range byPhase.Records(string(pod.Status.Phase)) {
		if r.Key() == pod.Namespace+"/"+pod.Name {
			found++
		}
	}
	for range inf.Lister().Records(nil) {
		found++
		break
	}
	if found != 2 {
		t.Errorf("found %d times", found)
	}
	r, ok = inf.Lister().Record("none")
	if obj, err := r.Object(); ok || !r.IsZero() || obj != nil || err != nil || r.Key()+r.Name()+r.Namespace()+r.UID()+r.ResourceVersion() != "" ||
		r.Has(kinform.Field{}) || r.Labels().Has("a") || len(r.Bytes()) > 0 {
		t.Errorf("%t %v %v", ok, obj, err)
	}
	var zero kinform.TypedField[*corev1.Pod, string]
	for r := range inf.Lister().Records(nil) {
		if _, ok := zero.Lookup(r); ok {
			t.Error("a field that was not made has a value")
		}
	}
}

// TestFieldsThatAreNot: the error names what is wrong, and what would be right.
func TestFieldsThatAreNot(t *testing.T) {
	cfg := startSim(t, apisim.Options{}).Config()
	pods, err := kinform.New[*corev1.Pod](cfg, kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"spec.nodename":         `no field "nodename"; did you mean nodeName?`,
		"spec.priority":         "read as an int64 and not as a string",
		"spec.containers.image": "read as a []string",
		"kind":                  "not a part of the objects in protobuf",
	} {
		if _, err := kinform.FieldOf[string](pods, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := pods.Field("apiVersion"); err == nil || !strings.Contains(err.Error(), "not a part of the objects in protobuf") {
		t.Error(err)
	}
}

// raced: the race detector is on. Pools then drop what they are given, now and then.
var raced bool

// TestTypedFieldsAllocateNothing but strings, also of what is packed.
func TestTypedFieldsAllocateNothing(t *testing.T) {
	server, _ := loaded(t, 50)
	inf, err := kinform.New[*corev1.Pod](server.Config(), kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	node, links := fieldOf[string](t, inf, "spec.nodeName"), fieldOf[bool](t, inf, "spec.enableServiceLinks")
	created, generation := fieldOf[time.Time](t, inf, "metadata.creationTimestamp"), fieldOf[int64](t, inf, "metadata.generation")
	run(t, inf)
	records := slices.Collect(inf.Lister().Records(nil))
	i := 0
	next := func() kinform.Record[*corev1.Pod] { i++; return records[i%len(records)] }
	for name, c := range map[string]struct {
		read func()
		most float64
	}{
		"bool": {func() { links.Lookup(next()) }, 0}, "time": {func() { created.Get(next()) }, 0}, "number": {func() { generation.Get(next()) }, 0},
		"presence": {func() { next().Has(node.Field) }, 0}, "string": {func() { node.Get(next()) }, 1},
	} {
		if raced {
			c.most += 3 // the memory to unpack into
		}
		if n := testing.AllocsPerRun(200, c.read); n > c.most {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// BenchmarkTypedField reads fields of packed records, next to decoding the object.
func BenchmarkTypedField(b *testing.B) {
	server, _ := loaded(b, 1000)
	for name, o := range map[string]kinform.Options{
		"protobuf": {Residency: kinform.ResidencyNever}, "JSON": {JSON: true, Residency: kinform.ResidencyNever},
	} {
		inf, err := kinform.New[*corev1.Pod](server.Config(), o)
		if err != nil {
			b.Fatal(err)
		}
		node, links := fieldOf[string](b, inf, "spec.nodeName"), fieldOf[bool](b, inf, "spec.enableServiceLinks")
		created, labels := fieldOf[time.Time](b, inf, "metadata.creationTimestamp"), fieldOf[map[string]string](b, inf, "metadata.labels")
		ready := fieldOf[string](b, inf, "status.conditions[?(@.type=='Ready')].status")
		run(b, inf)
		records := slices.Collect(inf.Lister().Records(nil))
		for _, c := range []struct {
			what string
			read func(kinform.Record[*corev1.Pod])
		}{
			{"bool", func(r kinform.Record[*corev1.Pod]) { links.Lookup(r) }},
			{"time", func(r kinform.Record[*corev1.Pod]) { created.Get(r) }},
			{"string", func(r kinform.Record[*corev1.Pod]) { node.Get(r) }},
			{"condition", func(r kinform.Record[*corev1.Pod]) { ready.Get(r) }},
			{"map", func(r kinform.Record[*corev1.Pod]) { labels.Get(r) }},
			{"object", func(r kinform.Record[*corev1.Pod]) { _, _ = r.Object() }},
		} {
			b.Run(name+"/"+c.what, func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					c.read(records[i%len(records)])
				}
			})
		}
	}
}
