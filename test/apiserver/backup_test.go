package apiserver

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBackup(t *testing.T) {
	s := start(t, Options{})
	ctx := limited(t)
	client := connect(t, s.Config())
	maps := client.CoreV1().ConfigMaps("default")
	kept := createConfigMap(t, client, "kept")
	restore, err := s.Backup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	changed := kept.DeepCopy()
	changed.Data = map[string]string{"changed": "yes"}
	if _, err := maps.Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a copy is good for more than one time
		createConfigMap(t, client, "lost")
		if err := restore(ctx); err != nil {
			t.Fatal(err)
		}
		got, err := maps.Get(ctx, "kept", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got.ResourceVersion != kept.ResourceVersion || got.UID != kept.UID || len(got.Data) != 0 {
			t.Errorf("after the restore: version %s with %v, want %s as it was", got.ResourceVersion, got.Data, kept.ResourceVersion)
		}
		if got, err := maps.Get(ctx, "lost", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("what was created after the backup is there: %v, %v", got, err)
		}
	}
}
