package chaos

import (
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestVerifySeesEveryEdit: whatever of a transform reaches another reader's object is
// found.
func TestVerifySeesEveryEdit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	whole := func() (typed *corev1.ConfigMap, other metav1.Object) {
		o := content(rng, configMaps, "ns", "name")
		enlarge(o, noise(rng, 1000))
		typed = &corev1.ConfigMap{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
			t.Fatal(err)
		}
		return typed, o
	}
	for name, edit := range map[string]func(mine, transformed *corev1.ConfigMap){
		"annotations": func(mine, o *corev1.ConfigMap) { mine.Annotations = o.Annotations },
		"labels":      func(mine, o *corev1.ConfigMap) { mine.Labels = o.Labels },
		"data":        func(mine, o *corev1.ConfigMap) { mine.Data = o.Data },
	} {
		mine, untyped := whole()
		if err := verify(mine); err != nil {
			t.Errorf("an object that is whole: %v", err)
		}
		if err := verifyTransformed(mine); err == nil {
			t.Error("an object that was not transformed passes as transformed")
		}
		theirs := mine.DeepCopy()
		for _, o := range []metav1.Object{theirs, untyped} {
			if _, err := transform(o); err != nil {
				t.Fatal(err)
			}
			if err := verifyTransformed(o); err != nil {
				t.Errorf("a transformed %T: %v", o, err)
			}
		}
		if !equalTransformed(theirs, mine) || equalTransformed(mine, mine) {
			t.Error("not equal to the transform of the server's object")
		}
		edit(mine, theirs)
		if err := verify(mine); err == nil {
			t.Errorf("%s of a transformed object are not seen", name)
		}
	}
}
