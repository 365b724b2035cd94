//go:build !clientgo036

package cache_test

import (
	"testing"
	"testing/synctest"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
)

// shutDown removes a handler and waits for it, in the way of the player's side.
func shutDown(p *player, handle cache.ResourceEventHandlerRegistration) error {
	if p.side.name == theirs.name {
		return clientgo.ShutDownEventHandler(p.informer, handle)
	}
	return cache.ShutDownEventHandler(p.informer, handle)
}

func init() {
	uses["ShutDownEventHandler"] = func(t *testing.T, p *player, say func(string, ...any)) {
		mine, _ := p.informer.AddEventHandler(nothing)
		kept, _ := p.informer.AddEventHandler(nothing)
		say("%v", p.informer.RemoveEventHandler(mine))
		say("%v %v", shutDown(p, mine), mine.HasSynced())
		started(p)
		late, _ := p.informer.AddEventHandler(nothing)
		say("%v", p.informer.RemoveEventHandler(late))
		say("%v", shutDown(p, late))
		stop(p)
		<-p.ended
		say("%v", shutDown(p, kept))
		say("%t", shutDown(p, strange{}) != nil)
	}
	uses["ShutDownEventHandler waits"] = func(t *testing.T, p *player, say func(string, ...any)) {
		started(p)
		join("h")(p)
		synctest.Wait()
		hold("h")(p)
		p.server.do(put("d"))
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- shutDown(p, p.handlers["h"].registration) }()
		synctest.Wait()
		say("ended %t", len(done) == 1)
		let("h")(p)
		say("%v", <-done)
	}
}
