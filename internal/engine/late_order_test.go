package engine

import (
	"fmt"
	"testing"
	"time"
)

// TestListsHaveTheLastWord: where a server was seen not to order the states of one
// object, as where objects get a counter each and no uid, a list that is as new as the
// store replaces what the store has, under a lower version too.
func TestListsHaveTheLastWord(t *testing.T) {
	for name, c := range map[string]struct{ before, event, after string }{
		"no uid, made again":      {"@5", "@6", "@1"},
		"versions go up and down": {"u1@5", "u1@50", "u1@7"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPlaybook("60", map[string]string{"a": c.before})
			scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
				s.sends(modified("a", c.event), modified("a", c.after))
				s.sets("70", map[string]string{"a": c.after + "=blue"})
				s.sends(forgets)
				time.Sleep(time.Minute)
				holds(t, inf.Collection, s.items)
			})
		})
	}
}

// TestMadeAgainWithoutUID: without uids an object that is made again, with a version
// that counts from one again, is not taken for a state from before its end.
func TestMadeAgainWithoutUID(t *testing.T) {
	s := newPlaybook("60", map[string]string{"a": "@5"})
	scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
		for i := range 5 {
			s.sets(fmt.Sprint(61+i), map[string]string{"a": "@1"})
			s.sends(deletedAs("a", "@6"), addedAs("a", "@1"))
			time.Sleep(time.Second)
			holds(t, inf.Collection, s.items)
			for v := range 5 {
				s.sends(modified("a", fmt.Sprintf("@%d", v+2)))
			}
			time.Sleep(time.Minute)
		}
		if n := len(s.lists()); n > 10 {
			t.Errorf("%d lists", n)
		}
	})
}
