package servers

import (
	"context"
	"fmt"
	"time"
)

// step is the time between two steps of the story: so short that some changes come
// in one watch and others between two, where watches last a second.
const step = 400 * time.Millisecond

// teller tells the story; the first error ends it.
type teller struct {
	*world
	ctx   context.Context
	n     int // makes every content another one
	steps int
	err   error
}

func (t *teller) put(names ...string) {
	for _, name := range names {
		if t.err != nil {
			return
		}
		t.n++
		if err := t.world.put(t.ctx, name, t.n); err != nil {
			t.err = fmt.Errorf("put %s: %w", name, err)
		}
	}
}

func (t *teller) remove(names ...string) {
	for _, name := range names {
		if t.err != nil {
			return
		}
		if err := t.world.remove(t.ctx, name); err != nil {
			t.err = fmt.Errorf("remove %s: %w", name, err)
		}
	}
}

// pass lets time pass.
func (t *teller) pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
	}
}

// then ends a step. Another server lags in the next one.
func (t *teller) then() {
	t.pass(step)
	t.steps++
	t.lag(t.steps % 2)
}

// before is what is there when the clients come.
func (t *teller) before() {
	t.put("a", "b", "c", "d", "e", "f", "g", "h")
}

// changes is what happens while they are there.
func (t *teller) changes() {
	t.put("i", "j")
	t.then()
	for range 3 {
		t.put("a")
	}
	t.then()
	t.remove("b")
	t.then()
	t.remove("c")
	t.put("c")
	t.then()
	t.put("c")
	t.then()
	t.rights()
	t.relist()
	t.put("a", "c", "e", "f", "h", "i", "j")
	t.then()
	t.remove("j")
	t.put("a")
	t.lag(-1)
}

// rights has objects vanish and appear, where the server can do that.
func (t *teller) rights() {
	if !t.row.Rights {
		return
	}
	t.own.Hide(namespace, "d")
	t.then()
	t.put("e", "f")
	t.then()
	t.own.Show(namespace, "d")
	t.then()
}

// relist has the clients list again, and changes what they list meanwhile.
func (t *teller) relist() {
	t.forget()
	if !t.row.Gaps {
		t.remove("g")
	}
	t.put("e", "k")
	t.then()
	t.put("g", "k")
	t.then()
}

// after is what happens when nothing has happened for long.
func (t *teller) after() {
	t.pass(31 * time.Minute)
	t.put("a", "l")
	t.remove("f")
}
