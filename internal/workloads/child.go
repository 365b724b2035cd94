package workloads

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// The subjects.
const (
	ClientGo = "client-go"
	Native   = "kinform"
	DropIn   = "kinform drop-in"
)

// taskVariable has the task of a child process, as JSON.
const taskVariable = "KINFORM_WORKLOAD"

// task is what a child is asked to do.
type task struct {
	Subject   string
	Host      string
	Resources []schema.GroupVersionResource
	Use       Use
	Ceiling   int64 // the RSS above which the child gives up
	Counted   bool  // objects are used at each step, not by the clock
}

// command is what the parent says to a child, a line of JSON each.
type command struct {
	// Begin has the use and the measuring begin.
	Begin bool
	// Reach waits until a handler was called with this version.
	Reach uint64
	// End ends the measuring, waits until the subject holds what the server holds,
	// and asks for the report.
	End *Content
}

// reply is what a child answers to each command, and says when it has synced.
type reply struct {
	Sample Sample
	Report *Report
	// Failed says why the child has given up.
	Failed string
}

// Report is what a subject measured, from Begin to End.
type Report struct {
	PeakRSS    int64   // since the process began
	PeakHeap   int64   // the highest sample
	PeakMapped int64   // the highest sample
	PeakOwn    int64   // the highest sample of heap and mapped together
	CPU        float64 // seconds
	GCs        uint64
	Pauses     float64 // seconds, all together
	Longest    float64 // seconds, the longest pause
	Calls      int64   // of handlers
	Reads      int64   // Gets, and objects that were listed
	Live       int64   // on the heap after a collection, right after the last change
	LiveMapped int64   // outside it, at the same time
	CatchUp    float64 // seconds until the subject held what the server held
	// Failed says why the subject does not count: it grew beyond its ceiling, or did
	// not hold what the server held.
	Failed string
}

// informerMaker is one way to make informers.
type informerMaker interface {
	// watch runs an informer until ctx ends, and returns when it has synced.
	watch(context.Context, schema.GroupVersionResource, []handler) (reader, error)
	// visit runs an informer with an index, and returns when it has synced.
	visit(ctx context.Context, r schema.GroupVersionResource, index string) (stop func(), err error)
}

// reader reads an informer's objects.
type reader interface {
	each(func(metav1.Object))
	get(key string) (runtime.Object, error) // nil if it is not there
	keys() []string
}

// handler is called for a change; read looks into the objects.
type handler interface {
	called(key, version string, read func() int)
}

// IsChild reports whether this process was started as a subject.
func IsChild() bool { return os.Getenv(taskVariable) != "" }

// Child runs the subject that the environment describes, until its input ends.
func Child() error {
	var t task
	if err := json.Unmarshal([]byte(os.Getenv(taskVariable)), &t); err != nil {
		return err
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cfg := &rest.Config{Host: t.Host, QPS: -1}
	var maker informerMaker = native{cfg}
	if t.Subject != Native {
		s, err := newShared(cfg, t.Subject == DropIn)
		if err != nil {
			return err
		}
		maker = s
	}
	c := &child{task: t, maker: maker, meter: newMeter(), progress: newProgress(), out: json.NewEncoder(os.Stdout)}
	c.ballast = ballast(t.Use.Ballast)
	if err := c.start(ctx); err != nil {
		return fmt.Errorf("%s: %w", t.Subject, err)
	}
	err := c.obey(ctx, os.Stdin)
	cancel()
	c.using.Wait()
	return err
}

type child struct {
	task
	maker    informerMaker
	readers  []reader
	meter    *meter
	progress *progress
	using    sync.WaitGroup
	ballast  [][]byte
	visits   int

	mu  sync.Mutex // guards out
	out *json.Encoder
}

// ballast is heap that has nothing to do with the informers.
func ballast(size int64) [][]byte {
	var all [][]byte
	for ; size > 0; size -= 1 << 10 {
		all = append(all, make([]byte, 1<<10))
	}
	for _, b := range all {
		b[0] = 1
	}
	return all
}

// start runs the informers.
func (c *child) start(ctx context.Context) error {
	for _, r := range c.Resources {
		var handlers []handler
		for i := range max(c.Use.Handlers, 1) {
			handlers = append(handlers, &listener{use: c.Use, progress: c.progress, first: i == 0})
		}
		reader, err := c.maker.watch(ctx, r, handlers)
		if err != nil {
			return err
		}
		c.readers = append(c.readers, reader)
	}
	return c.say(reply{})
}

func (c *child) say(r reply) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Encode(r)
}

// obey does what the parent says.
func (c *child) obey(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var cmd command
		if err := json.Unmarshal(lines.Bytes(), &cmd); err != nil {
			return err
		}
		var r reply
		switch {
		case cmd.Begin:
			c.meter.begin()
			c.begin(ctx)
		case cmd.Reach > 0:
			r.Failed = c.reach(ctx, cmd.Reach)
		case cmd.End != nil:
			r.Report = c.end(*cmd.End)
		}
		if err := c.meter.sample(); err != nil {
			return err
		}
		r.Sample = c.meter.last()
		if err := c.say(r); err != nil {
			return err
		}
	}
	return lines.Err()
}

// begin has the objects used.
func (c *child) begin(ctx context.Context) {
	c.using.Go(func() { c.watchMemory(ctx) })
	if c.Counted {
		return
	}
	if every := c.Use.ListEvery; every > 0 {
		c.using.Go(func() {
			for pause(ctx, every) {
				c.list()
			}
		})
	}
	for range c.Use.Getters {
		c.using.Go(func() {
			keys := c.readers[0].keys()
			for pause(ctx, time.Duration(float64(c.Use.GetPause)*(0.5+rand.Float64()))) {
				c.get(keys)
			}
		})
	}
	if c.Use.Visit > 0 {
		c.using.Go(func() {
			for c.visit(ctx) == nil && ctx.Err() == nil {
			}
		})
	}
}

// reach waits for a version and uses the objects then. It returns why it gave up.
func (c *child) reach(ctx context.Context, version uint64) (failed string) {
	if !c.progress.wait(version) {
		return fmt.Sprintf("has not seen version %d within %v", version, patience)
	}
	if err := c.useOnce(ctx); err != nil {
		return err.Error()
	}
	return ""
}

// useOnce uses the objects once, as after each step of a run that is counted in
// changes.
func (c *child) useOnce(ctx context.Context) error {
	if c.Use.ListEvery > 0 {
		c.list()
	}
	if c.Use.Getters > 0 {
		keys := c.readers[0].keys()
		for range 20 * c.Use.Getters {
			c.get(keys)
		}
	}
	if c.Use.Visit > 0 {
		return c.visit(ctx)
	}
	return nil
}

// watchMemory takes samples, and gives up above the ceiling.
func (c *child) watchMemory(ctx context.Context) {
	began := time.Now()
	for pause(ctx, 100*time.Millisecond) {
		if err := c.meter.sample(); err != nil {
			return
		}
		if rss := c.meter.last().RSS; c.Ceiling > 0 && rss > c.Ceiling {
			r := c.meter.report()
			r.Failed = fmt.Sprintf("gave up at %d MiB after %.0f s", rss>>20, time.Since(began).Seconds())
			_ = c.say(reply{Failed: r.Failed, Report: r})
			os.Exit(0)
		}
	}
}

func (c *child) list() {
	for _, r := range c.readers {
		r.each(func(o metav1.Object) { c.progress.read(weigh(o.(runtime.Object))) })
	}
}

func (c *child) get(keys []string) {
	o, err := c.readers[0].get(keys[rand.IntN(len(keys))])
	if err == nil && o != nil {
		c.progress.read(weigh(o))
	}
}

// visit runs a second informer for a while. Its index has a name that was not used
// before.
func (c *child) visit(ctx context.Context) error {
	c.visits++
	stop, err := c.maker.visit(ctx, c.Resources[0], fmt.Sprintf("visit %d", c.visits))
	if err != nil {
		return err
	}
	pause(ctx, c.Use.Visit)
	stop()
	return nil
}

// pause waits, and reports whether to go on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// end measures, and then compares the objects with the server's.
func (c *child) end(want Content) *Report {
	r := c.meter.report()
	r.Calls, r.Reads = c.progress.counts()
	r.Live = liveHeap()
	if s, err := c.meter.sampler.now(); err == nil {
		r.LiveMapped = s.Mapped
	}
	began := time.Now()
	var have Content
	for {
		if have = c.content(); have == want {
			r.CatchUp = time.Since(began).Seconds()
			return r
		}
		if time.Since(began) > catchUp {
			r.Failed = fmt.Sprintf("holds other objects or versions than the server (%d against %d)", have.Objects, want.Objects)
			return r
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// catchUp is how long a subject may take until it holds what the server holds.
const catchUp = 30 * time.Second

func (c *child) content() Content {
	var sum Content
	for i, r := range c.readers {
		r.each(func(o metav1.Object) {
			sum.Add(c.Resources[i].Resource, o.GetNamespace(), o.GetName(), o.GetResourceVersion())
		})
	}
	return sum
}
