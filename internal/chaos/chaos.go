// Package chaos is a soak test of informers: writers change objects in a server, some
// of them large and changed all the time. Informers of many shapes, native and
// drop-in, with several views of one watch and with transforms, look on through
// proxies that inject faults; the server itself is restarted, killed, made to forget
// and restored from backups, the clock jumps, and subscribers join, leave, block,
// panic and change what they are given. Again and again everything stops, and all
// that the informers hold and have delivered is compared with the server. Readers
// look meanwhile whether anybody changes the objects that they hold, and the memory
// of the process is sampled: after a warm-up it must not grow.
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
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform"
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
	// Rate is how many writes there are in a second, at most, at pace 1. Default: 400.
	Rate float64
	// Pace scales how much is written and read in a second. Default: 1, which takes
	// more than one core.
	Pace float64
	// Round is the time between two comparisons. Default: 5 s.
	Round time.Duration
	// HeapProfile is a file for a profile of the heap at the end, before informers
	// stop. Default: none is written.
	HeapProfile string
	// Log is called for each round. Default: nothing is logged.
	Log func(format string, args ...any)
}

// run is one run.
type run struct {
	Options
	rng     *rand.Rand
	proxy   *faultproxy.Proxy // of native informers, whose patience can be set
	mild    *faultproxy.Proxy // of drop-ins, whose patience is client-go's
	network *network
	clients *clients
	writers *writers
	members []*member
	report  *Report

	wild     atomic.Bool   // subscribers join, leave and misbehave while it is set
	panicked atomic.Uint64 // handlers
	reads    atomic.Uint64
	jumped   atomic.Uint64 // the clock
	backup   *backup
	disk     string // the folder of those that come back
	wanderer *kinform.Informer[*corev1.ConfigMap]
	rescoped atomic.Uint64 // how often the wanderer's scope was changed
	memory   *sampler

	newsMu sync.Mutex
	news   []chan string // of the readers of this round

	wrongMu sync.Mutex
	wrong   tally // what readers found
}

// patience is how long informers may take to be equal to the server once all is
// calm, and servers to come up. Nothing healthy comes near it.
const patience = 2 * time.Minute

// Run plays chaos and reports. The error says what kept it from being played; what
// was found wrong is in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Rate <= 0 {
		o.Rate = 400
	}
	if o.Pace <= 0 {
		o.Pace = 1
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
	// What goes wrong on purpose would fill the log of the drop-ins.
	klog.SetLogger(logr.Discard())
	defer klog.ClearLogger()
	began := time.Now()
	if setClock != nil {
		defer setClock(0)
	}
	disk, err := os.MkdirTemp("", "kinform-soak")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(disk) }()
	r.disk = disk
	r.memory = startSampler(began, o.Time)
	err = r.play(ctx, began)
	r.report.Time = time.Since(began)
	r.report.Memory = Memory{Samples: r.memory.end(), Warmup: min(warmup, o.Time/6)}
	return r.report, err
}

func (r *run) play(ctx context.Context, began time.Time) (err error) {
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
	// A drop-in waits 0.8 s after a failure and up to 30 s after several, and takes
	// 150 s to notice silence: fewer faults leave it as much time to be up to date.
	if r.mild, err = faultproxy.Start(faultproxy.Options{Target: r.Server.Config, Seed: r.Seed + 1, Requests: 0.05, WatchLife: 8 * time.Second}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.mild.Close()) }()
	r.writers = startWriters(r.clients, r.tell, r.Rate, r.Pace, r.Seed)
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
			break // what follows would only repeat it
		}
	}
	return errors.Join(ctx.Err(), r.profile())
}

// profile writes the profile of the heap, if one is needed.
func (r *run) profile() error {
	if r.HeapProfile == "" {
		return nil
	}
	f, err := os.Create(r.HeapProfile)
	if err != nil {
		return err
	}
	runtime.GC()
	return errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
}

// round is a time of chaos, then a comparison.
func (r *run) round(ctx context.Context, number int) error {
	visitor, err := r.visitor(number)
	if err != nil {
		return err
	}
	guests := []*member{visitor}
	returner, err := r.returner(number)
	if err != nil {
		return err
	}
	if returner != nil {
		guests = append(guests, returner)
	}
	r.members = append(r.members, guests...)
	for _, m := range r.members {
		m.start(ctx) // those that are not running
	}
	r.calm(false)
	r.writers.pause(false)
	r.wild.Store(true)
	var crowd sync.WaitGroup
	var news []chan string
	for _, m := range r.members {
		for _, d := range m.readers {
			for range 2 {
				d := d // each has news of its own
				d.news = make(chan string, 1)
				news = append(news, d.news)
				rng := chance(r)
				crowd.Go(func() { r.read(ctx, d, rng) })
			}
		}
		crowd.Go(func() { m.comeAndGo(ctx, r) })
	}
	r.newsMu.Lock()
	r.news = news
	r.newsMu.Unlock()
	rng := chance(r)
	crowd.Go(func() { r.jumpAbout(ctx, rng) })
	var tenancy, wandered error
	luck, way := chance(r), chance(r)
	crowd.Go(func() { tenancy = r.tenancy(ctx, luck) })
	crowd.Go(func() { wandered = r.wander(ctx, way) })
	disturbed := r.disturb(ctx, number)
	r.sleep(ctx, r.Round)
	r.wild.Store(false)
	crowd.Wait()
	if err := errors.Join(disturbed, tenancy, wandered); err != nil {
		return err
	}
	if err := r.compare(ctx, number); err != nil {
		return err
	}
	if err := r.windBack(ctx, number); err != nil {
		return err
	}
	return errors.Join(r.farewell(guests...), r.stopSome())
}

func (r *run) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// calm stops the faults, or lets them go on. What hangs in the drop-ins' proxy is
// cut: they would not notice for minutes.
func (r *run) calm(calm bool) {
	r.proxy.Calm(calm)
	r.mild.Calm(calm)
	if calm {
		r.mild.Sever()
	}
}

// slow is how long a comparison may take before it is logged what it waits for.
const slow = 5 * time.Second

func (r *run) logSlow(round int, m *member) {
	for _, p := range m.informer.progress() {
		r.Log("round %d: %s is not equal after %s: at %d after %d lists and %d watches; %s", round, m.name, slow, p.version, p.lists, p.watches, p.doing)
	}
}

// compare has everything stop, and compares.
func (r *run) compare(ctx context.Context, round int) error {
	r.writers.pause(true)
	r.calm(true)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	for _, m := range r.members {
		for _, c := range m.checkers {
			all.Go(func() {
				defer time.AfterFunc(slow, func() { r.logSlow(round, m) }).Stop()
				err := c.Compare(ctx)
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			})
		}
	}
	all.Wait()
	errs = append(errs, r.verify(ctx))
	took := time.Since(began)
	r.report.compared(took, len(errs)-1)
	r.collect()
	now := r.memory.last()
	r.Log("round %d: %d writes, %d events, %d reads, %d faults, %d violations; equal after %s; %s resident, %s live, %s outside, %d goroutines", round,
		r.report.Writes, r.report.Delivered.Total(), r.report.Reads, r.report.faults(), r.report.Violated, took.Round(time.Millisecond),
		rssSeries.amount(now.RSS), heapSeries.amount(now.Heap), outsideSeries.amount(now.Outside), now.Goroutines)
	if err := errors.Join(errs...); err != nil && !errors.Is(err, check.ErrDiverged) {
		return fmt.Errorf("round %d: %w", round, err)
	}
	return nil
}
