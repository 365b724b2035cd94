package conformance

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Server is what the suite needs of a server under test.
type Server struct {
	// Config reaches the server as an administrator.
	Config *rest.Config

	// Compact makes the server forget its history. After it returns, the server
	// serves again, and every version, and every continue token, from before is
	// expired. Connections that were open may be cut. It is called at most once
	// in a run, while no case is in the middle of anything.
	Compact func(context.Context) error

	// Powerless reaches the server as a user who may do nothing. Nil for a server
	// that asks nobody for permission: the cases that need it then are not part of
	// the suite, and Run says how many.
	Powerless *rest.Config
}

// Case is one behaviour that an informer relies on.
type Case struct {
	// Name is "subject/the behaviour in words".
	Name string

	needs need
	run   func(*env)
}

// need is what a case asks of the server beyond an address.
type need int

const (
	nothing    need = iota
	compaction      // the case calls env.compact, and runs with the others that do
	powerless       // the case acts as a user without rights
)

const (
	// atOnce is how many cases run side by side. Cases mostly wait, so this has
	// little to do with the number of processors.
	atOnce = 16
	// patience is how long one case may take, compaction included.
	patience = 90 * time.Second
)

// Cases returns every case of the suite, by subject.
func Cases() []Case {
	return slices.Concat(
		versionCases,
		listCases,
		pagingCases,
		watchCases,
		bookmarkCases,
		initialEventsCases,
		expiredCases,
		selectorCases,
		contentCases,
		metadataCases,
		tableCases,
		createCases,
		updateCases,
		patchCases,
		deleteCases,
		finalizerCases,
		subresourceCases,
		customResourceCases,
		discoveryCases,
		badInputCases,
		permissionCases,
		clientCases,
	)
}

// Run runs each case against s as a subtest, many at a time, and reports their
// number. Cases that need the server's history forgotten come last, together.
func Run(t *testing.T, s Server) {
	t.Helper()
	clients := newClients(t, s)

	var live, compacting []Case
	left := 0
	for _, c := range Cases() {
		switch {
		case c.needs == compaction:
			compacting = append(compacting, c)
		case c.needs == powerless && s.Powerless == nil:
			left++
		default:
			live = append(live, c)
		}
	}

	start := time.Now()
	ran := runLive(t, clients, live) + runCompacting(t, clients, compacting, s.Compact)
	t.Logf("%d cases in %v", ran, time.Since(start).Round(time.Millisecond))
	if left > 0 {
		t.Logf("%d cases are not in the suite for a server without permissions", left)
	}
}

// runLive runs the cases that disturb nobody, and returns how many were run.
func runLive(t *testing.T, clients *clients, cases []Case) int {
	var ran atomic.Int64
	queue := make(chan Case)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for c := range queue {
				t.Run(c.Name, func(t *testing.T) {
					ran.Add(1)
					c.run(newEnv(t, clients, nil))
				})
			}
		})
	}
	for _, c := range cases {
		queue <- c
	}
	close(queue)
	workers.Wait()
	return int(ran.Load())
}

// runCompacting runs all its cases at once, up to the point where each waits for
// the history to be forgotten; that is then done once for all of them. It
// returns how many were run.
func runCompacting(t *testing.T, clients *clients, cases []Case, compact func(context.Context) error) int {
	var ran atomic.Int64
	if compact == nil {
		t.Error("Server.Compact is nil: nothing can be said about expired versions")
		return 0
	}
	meeting := newMeeting(len(cases))
	var all sync.WaitGroup
	for _, c := range cases {
		all.Go(func() {
			guest := meeting.guest()
			defer guest.leave() // also when the case failed early, or was not selected
			t.Run(c.Name, func(t *testing.T) {
				ran.Add(1)
				c.run(newEnv(t, clients, guest))
			})
		})
	}
	meeting.hold(t.Context(), compact)
	all.Wait()
	return int(ran.Load())
}
