package engine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
)

// TestChangesOnly: who looks on gets what happens from now on, and has synced at once.
func TestChangesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel()
		m.put("a", "red")
		m.put("b", "red")
		inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": m})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- inf.Run(ctx) }()
		<-inf.Synced()
		var got []string
		sub := inf.Subscribe(func(_ context.Context, d Delta) {
			got = append(got, d.Kind.String()+" "+d.Key())
		}, SubscribeOptions{ChangesOnly: true})
		<-sub.Synced()
		m.put("a", "blue")
		synctest.Wait()
		cancel()
		<-ended
		if want := []string{"updated ns/a"}; !slices.Equal(got, want) {
			t.Errorf("heard of %q, want %q", got, want)
		}
	})
}
