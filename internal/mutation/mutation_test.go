package mutation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"app.kubernetes.io/name": "a", "b": "c"}},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i",
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}},
	}
}

func TestFields(t *testing.T) {
	for _, c := range []struct {
		change func(*corev1.Pod)
		want   []string
	}{
		{func(*corev1.Pod) {}, nil},
		{func(p *corev1.Pod) { p.Labels = map[string]string{"app.kubernetes.io/name": "a", "b": "c"} }, nil},
		{func(p *corev1.Pod) { p.Annotations = map[string]string{} }, nil},
		{func(p *corev1.Pod) { p.Spec.NodeName = "secret-value" }, []string{"spec.nodeName"}},
		{func(p *corev1.Pod) { p.Labels["app.kubernetes.io/name"] = "secret-value" }, []string{"metadata.labels[app.kubernetes.io/name]"}},
		{func(p *corev1.Pod) { p.Labels["new"] = "secret-value"; delete(p.Labels, "b") }, []string{"metadata.labels.b", "metadata.labels.new"}},
		{func(p *corev1.Pod) { p.Spec.Containers[0].Image = "secret-value" }, []string{"spec.containers[0].image"}},
		{func(p *corev1.Pod) { p.Spec.Containers = nil }, []string{"spec.containers"}},
		{func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("2")
		}, []string{"spec.containers[0].resources.limits.cpu"}},
		{func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, []string{"metadata.deletionTimestamp"}},
		{func(p *corev1.Pod) { p.CreationTimestamp = metav1.Time{Time: time.Unix(1, 0)} }, []string{"metadata.creationTimestamp"}},
	} {
		changed := pod()
		c.change(changed)
		if got := Fields(pod(), changed); !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	a := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": int64(1), "l": []any{"x"}}}}
	b := a.DeepCopy()
	b.Object["spec"].(map[string]any)["l"] = []any{"secret-value"}
	b.Object["status"] = "secret-value"
	if got, want := Fields(a, b), []string{"spec.l[0]", "status"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	type own struct {
		When   time.Time
		hidden int
	}
	if !equal(&own{hidden: 1}, &own{hidden: 1}) || equal(&own{}, &own{hidden: 1}) || len(Fields(&own{}, &own{hidden: 1})) != 1 {
		t.Error("a type with a field of its own is compared wrongly")
	}
	many := map[string]string{}
	for i := range 100 {
		many[fmt.Sprint(i)] = ""
	}
	if got := Fields(map[string]string{}, many); len(got) != mostFields {
		t.Errorf("%d fields, want %d", len(got), mostFields)
	}
}

func handed(o *corev1.Pod, forgotten *int) Handed {
	return Handed{Key: "default/p", Object: o, Fresh: func() (any, error) { return pod(), nil }, Forget: func() { *forgotten++ }}
}

// TestDetectorLooksNowAndThen: a change is found within the period, reported once,
// and what was not handed out for long is let go.
func TestDetectorLooksNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := make(chan Report, 10)
		forgotten := 0
		d := New(Full, func(r Report) { reports <- r })
		good, bad := pod(), pod()
		d.Remember(handed(good, &forgotten), "nobody.")
		d.Remember(handed(bad, &forgotten), "nobody.")
		d.Remember(handed(bad, &forgotten), "nobody.")
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if n := len(reports); n != 0 {
			t.Fatalf("%d reports, and nothing was changed", n)
		}
		d.mu.Lock() // for the race detector: the change itself is one
		bad.Spec.NodeName = "secret-value"
		d.mu.Unlock()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		d.Close()
		close(reports)
		var got []Report
		for r := range reports {
			got = append(got, r)
		}
		if len(got) != 1 || got[0].Key != "default/p" || !slices.Equal(got[0].Fields, []string{"spec.nodeName"}) || forgotten != 1 {
			t.Fatalf("reports %v, forgot %d, want one of spec.nodeName", got, forgotten)
		}
		if text := got[0].String(); strings.Contains(text, "secret-value") || !strings.Contains(text, "TestDetectorLooksNowAndThen") {
			t.Errorf("says %q, want the reader and no value", text)
		}

		d.Remember(handed(pod(), &forgotten), "nobody.")
		time.Sleep(2 * keep)
		synctest.Wait()
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.tick != nil || len(d.order)+len(d.known) > 0 {
			t.Error("still holds on to what nobody has read for long")
		}
	})
}

// TestDetectorIsBounded: whatever is handed out, little is held on to, and what is
// let go for that is compared.
func TestDetectorIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports, forgotten := 0, 0
		d := New(Sampled, func(r Report) {
			reports++
			if len(r.Readers) > 0 {
				t.Errorf("looked for readers: %v", r)
			}
		})
		for range 10 * mostSampled {
			o := pod()
			d.Remember(handed(o, &forgotten), "nobody.")
			o.Spec.NodeName = "changed"
		}
		if len(d.order) > mostSampled || len(d.known) > mostSampled || reports != 9*mostSampled {
			t.Errorf("holds %d, reported %d, want %d and %d", len(d.order), reports, mostSampled, 9*mostSampled)
		}
		d.Close()
		if reports != 10*mostSampled {
			t.Errorf("reported %d, want all %d", reports, 10*mostSampled)
		}
		wanted := 0
		for range 100 * sampleOneOf {
			if d.Wants() {
				wanted++
			}
		}
		if wanted < 20 || wanted > 500 {
			t.Errorf("wants %d of %d, want about 100", wanted, 100*sampleOneOf)
		}
	})
	if New(Off, nil).Wants() {
		t.Error("a detector that is off wants objects")
	}
}
