// Package chaos is a soak test of informers: writers change objects in a server,
// informers of many shapes look on through a proxy that injects faults, the server
// itself is restarted, killed, made to forget and wound back, and subscribers join,
// leave, block, panic and change what they are given. Again and again everything
// stops, and all that the informers hold and have told is compared with the server.
//
// A run follows from its seed as far as it can: which faults meet which request, what
// is written, and what is done to the server when. Which of these comes first in time
// is left to the machine.
//
// What may live here: the run, its cast and its report. What may not: the rules that
// are checked (package check) and what happens on the wire (package faultproxy).
package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/check"
	"github.com/kinform/kinform/internal/faultproxy"
)

// Server is a server under chaos. Nobody else may use it meanwhile.
type Server struct {
	Name string
	// Config reaches it as an administrator.
	Config *rest.Config
	// Faults are what can be done to the server while all goes on. Objects and
	// versions stay. Each returns when the server is up again.
	Faults []ServerFault
	// Backup keeps the server's present state, and returns what brings it back,
	// versions included.
	Backup func(context.Context) (restore func(context.Context) error, err error)
}

// ServerFault is something done to a server.
type ServerFault struct {
	Name string
	Do   func(context.Context) error
}

// Options of a run.
type Options struct {
	Server Server
	// Time is how long it runs; then it takes a last comparison, and ends.
	Time time.Duration
	Seed uint64
	// Rate is how many writes there are in a second, at most. Default: 400.
	Rate int
	// Round is the time between two comparisons. Default: 5 s.
	Round time.Duration
	// Log is told of each round. Default: nobody is.
	Log func(format string, args ...any)
}

// run is one run.
type run struct {
	Options
	rng     *rand.Rand
	proxy   *faultproxy.Proxy
	network *network
	clients *clients
	writers *writers
	members []*member
	report  *Report

	wild     atomic.Bool   // subscribers join, leave and misbehave while it is set
	panicked atomic.Uint64 // handlers
	backup   *backup
}

// patience is how long informers may take to be equal to the server once all is
// calm, and servers to come up. Nothing healthy comes near it.
const patience = 45 * time.Second

// Run plays chaos and reports. The error says what kept it from being played; what
// was found wrong is in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Rate <= 0 {
		o.Rate = 400
	}
	if o.Round <= 0 {
		o.Round = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	r := &run{
		Options: o, rng: rand.New(rand.NewPCG(o.Seed, 0)), network: newNetwork(),
		report: newReport(o.Server.Name, o.Seed),
	}
	defer r.network.close()
	err := r.play(ctx)
	return r.report, err
}

func (r *run) play(ctx context.Context) (err error) {
	began := time.Now()
	defer func() { r.report.Time = time.Since(began) }()
	if r.clients, err = newClients(r.network, r.Server.Config); err != nil {
		return err
	}
	if err := r.clients.prepare(ctx); err != nil {
		return fmt.Errorf("prepare %s: %w", r.Server.Name, err)
	}
	if r.proxy, err = faultproxy.Start(faultproxy.Options{Target: r.Server.Config, Seed: r.Seed}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.proxy.Close()) }()
	r.writers = startWriters(r.clients, r.Rate, r.Seed)
	defer r.writers.stop()
	if err := r.cast(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.dismiss()) }()
	for round := 1; time.Since(began) < r.Time && ctx.Err() == nil; round++ {
		if err := r.round(ctx, round); err != nil {
			return err
		}
		if r.report.Violated > 0 {
			return nil // what follows would only repeat it
		}
	}
	return ctx.Err()
}

// round is a time of chaos, then a comparison.
func (r *run) round(ctx context.Context, number int) error {
	visitor, err := r.visitor(number)
	if err != nil {
		return err
	}
	r.members = append(r.members, visitor)
	for _, m := range r.members {
		m.start(ctx) // those that are not running
	}
	r.proxy.Calm(false)
	r.writers.pause(false)
	r.wild.Store(true)
	var crowd sync.WaitGroup
	for _, m := range r.members {
		crowd.Go(func() { m.comeAndGo(ctx, r) })
	}
	disturbed := r.disturb(ctx, number)
	r.sleep(ctx, r.Round)
	r.wild.Store(false)
	crowd.Wait()
	if disturbed != nil {
		return disturbed
	}
	if err := r.compare(ctx, number); err != nil {
		return err
	}
	if err := r.windBack(ctx, number); err != nil {
		return err
	}
	return errors.Join(r.farewell(visitor), r.stopSome())
}

func (r *run) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// compare has everything stop, and compares.
func (r *run) compare(ctx context.Context, round int) error {
	r.writers.pause(true)
	r.proxy.Calm(true)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	errs := make([]error, len(r.members))
	var all sync.WaitGroup
	for i, m := range r.members {
		all.Go(func() { errs[i] = m.checker.Compare(ctx) })
	}
	all.Wait()
	took := time.Since(began)
	r.report.compared(took)
	r.collect()
	r.Log("round %d: %d writes, %d events, %d faults, %d violations; equal after %s", round,
		r.report.Writes, r.report.Told.Total(), r.report.faults(), r.report.Violated, took.Round(time.Millisecond))
	if err := errors.Join(errs...); err != nil && !errors.Is(err, check.ErrDiverged) {
		return fmt.Errorf("round %d: %w", round, err)
	}
	return nil
}
