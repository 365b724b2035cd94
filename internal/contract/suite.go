// Package contract proves the contract that the documentation of package kinform
// states: one test for each of its numbered points, with a story for each
// sentence. The stories run against any API server; the embedded one and a real
// kube-apiserver are the ones that count.
//
//	func TestContract(t *testing.T) {
//		contract.Run(t, contract.Server{Config: cfg, …})
//	}
//
// What may live here: stories, and the few things they need. A story uses package
// kinform as its users do, works in its own namespace, leaks no goroutine,
// connection or response, and neither sleeps nor polls: it waits for events, for
// log lines, for answers. What may not: anything
// that knows how kinform works inside, or which server it is.
package contract

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
)

// Server is what the suite needs of a server. It may be used by nobody else
// meanwhile.
type Server struct {
	// Config reaches the server as an administrator, over TLS. Its NextProtos can
	// ask for HTTP/1.1.
	Config *rest.Config

	// Forbidden returns a configuration that reaches the server, as somebody who
	// may neither list nor watch.
	Forbidden func(*testing.T) *rest.Config

	// Limited returns a configuration that reaches the server, as somebody who may list
	// and watch config maps in some namespaces, and nothing else.
	Limited func(t *testing.T, namespaces ...string) *rest.Config

	// Expire makes the server forget its history: versions from before are
	// answered with 410. Connections may be cut.
	Expire func(context.Context) error

	// Backup keeps the server's present state, and returns what brings it back,
	// versions included, as when a cluster is restored from a backup.
	// Connections may be cut by both.
	Backup func(context.Context) (restore func(context.Context) error, err error)

	// Goroutines are the server's own: those that it starts again in Expire,
	// Backup and restore, so that they are not taken for kinform's.
	Goroutines []goleak.Option
}

// point is one numbered point of the contract.
type point struct {
	name    string
	stories []story
}

// story shows one sentence of a point.
type story struct {
	name string
	run  func(*env)
}

// What a story may take. No healthy one comes near it.
const (
	patience       = 30 * time.Second
	serverPatience = 2 * time.Minute // of one call of Expire, Backup or restore
)

var points = []point{
	{"01 order", order},
	{"02 store first", storeFirst},
	{"03 late joiners", lateJoiners},
	{"04 sync is per subscriber", syncing},
	{"05 relist", relisting},
	{"06 never back in time", neverBack},
	{"07 slow subscribers", slow},
	{"08 nothing is silent", nothingSilent},
	{"09 stop means stopped", stopping},
	{"10 bad input is contained", badInput},
	{"11 read your writes", readWrites},
	{"12 the scope changes", scoping},
	{"13 verify and replay", verifying},
}

// Run runs every story of every point against a server, one after the other, so that
// each of them can account for all goroutines.
func Run(t *testing.T, s Server) {
	for _, p := range points {
		t.Run(p.name, func(t *testing.T) {
			for _, st := range p.stories {
				t.Run(st.name, func(t *testing.T) { st.run(newEnv(t, s)) })
			}
		})
	}
}
