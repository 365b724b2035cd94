package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestQuietWhereNothingIsProbed: where versions are not compared, a watch that follows
// a broken one may be as silent as any other.
func TestQuietWhereNothingIsProbed(t *testing.T) {
	for name, source := range map[string]func(*playbook) Source{
		"opaque versions": func(s *playbook) Source { return s },
		"objects":         func(s *playbook) Source { return wholeBook{s} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPlaybook("opaque", nil)
				inf := NewInformer(Options{}, ReflectorOptions{}, map[string]Source{"": source(s)})
				defer playing(t, inf)()
				time.Sleep(2 * time.Second)
				s.sends(ends)
				time.Sleep(30 * time.Minute)
				if n := inf.Status()[0].Watches; n > 20 {
					t.Errorf("%d watches in half an hour", n)
				}
			})
		})
	}
}

// wholeBook is a playbook of objects.
type wholeBook struct{ *playbook }

func (wholeBook) ListsWhole() {}
