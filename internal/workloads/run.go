package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kinform/kinform/apisim"
)

// Subject is one child process of a run.
type Subject struct {
	Name    string // ClientGo, Native or DropIn
	Limited bool   // has the workload's GOMEMLIMIT
}

// Subjects are all of them, client-go's before those that are compared with it.
func Subjects() []Subject {
	return []Subject{{ClientGo, false}, {Native, false}, {DropIn, false}, {ClientGo, true}, {Native, true}, {DropIn, true}}
}

// Options of a run.
type Options struct {
	// Program is run for each subject; it must call Child.
	Program string
	// Subjects are those that take part. Default: all.
	Subjects []Subject
	// Time is how long the load lasts.
	Time time.Duration
	// Changes, if not 0, is how many changes are made instead, in steps of Step, the
	// next when every subject has seen the last. Nothing depends on time then.
	Changes, Step int
	// Ceiling is the RSS above which a subject gives up. Default: none.
	Ceiling int64
	// Progress is called with what happens. Default: nothing is called.
	Progress func(text string) `json:"-"`
}

// Result is what a run gave.
type Result struct {
	Workload Workload
	Took     time.Duration
	Changes  int
	// Behind is how many changes the load could not make in time.
	Behind  int
	Objects int
	Bytes   int64     // of the objects, as they travel
	Reports []Outcome // in the order of the subjects
}

// Outcome is what one subject reported.
type Outcome struct {
	Subject
	Report
	// Steps are samples of the memory after each step of a run that is counted in
	// changes.
	Steps []Sample
}

// Run makes a workload's load and has the subjects follow it.
func Run(ctx context.Context, w Workload, o Options) (result Result, err error) {
	if o.Subjects == nil {
		o.Subjects = Subjects()
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	server, err := apisim.Start(apisim.Options{History: history(w.ObjectSize)})
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	o.Progress("fills the server")
	change, err := w.fill(newLoad(server), w.Objects)
	if err != nil {
		return Result{}, fmt.Errorf("fill the server: %w", err)
	}
	r := &run{Options: o, workload: w, server: server, change: change}
	defer func() { err = errors.Join(err, r.stop()) }()
	for _, s := range o.Subjects {
		o.Progress("starts " + s.Name)
		if err := r.start(ctx, s); err != nil {
			return Result{}, err
		}
	}
	return r.do(ctx)
}

type run struct {
	Options
	workload Workload
	server   *apisim.Server
	change   func(done float64) error
	children []*process
}

func (r *run) do(ctx context.Context) (Result, error) {
	result := Result{Workload: r.workload}
	r.each(command{Begin: true})
	began := time.Now()
	var err error
	if r.Changes > 0 {
		result.Changes, err = r.Changes, r.counted(ctx)
	} else {
		result.Changes, result.Behind, err = r.paced(ctx)
	}
	if err != nil {
		return result, fmt.Errorf("make the load: %w", err)
	}
	result.Took = time.Since(began)
	want, size, err := content(ctx, r.server, r.workload.Resources)
	if err != nil {
		return result, err
	}
	result.Objects, result.Bytes = want.Objects, size
	r.Progress("compares")
	r.each(command{End: &want})
	for _, c := range r.children {
		result.Reports = append(result.Reports, Outcome{Subject: c.subject, Report: c.report(), Steps: c.steps})
	}
	return result, nil
}

// each says something to all children at once and waits for their answers.
func (r *run) each(c command) {
	for _, p := range r.children {
		p.say(c)
	}
	for _, p := range r.children {
		p.hear()
	}
}

// counted makes the changes step by step.
func (r *run) counted(ctx context.Context) error {
	for made := 0; made < r.Changes && ctx.Err() == nil; {
		for range min(r.Step, r.Changes-made) {
			if err := r.change(float64(made) / float64(r.Changes)); err != nil {
				return err
			}
			made++
		}
		r.each(command{Reach: r.server.ResourceVersion()})
		for _, p := range r.children {
			p.steps = append(p.steps, p.last.Sample)
		}
		r.Progress(fmt.Sprintf("%d of %d changes", made, r.Changes))
	}
	return context.Cause(ctx)
}

// paced makes changes at the workload's rate. What was not made in time is made as
// fast as possible, and left out at the end.
func (r *run) paced(ctx context.Context) (made, behind int, err error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	began, shown := time.Now(), time.Time{}
	for {
		passed := min(time.Since(began), r.Time)
		due := int(passed.Seconds() * r.workload.Rate)
		for made < due && time.Since(began) < r.Time && ctx.Err() == nil {
			if err := r.change(passed.Seconds() / r.Time.Seconds()); err != nil {
				return made, 0, err
			}
			made++
		}
		if passed == r.Time {
			return made, due - made, nil
		}
		if time.Since(shown) > time.Second {
			shown = time.Now()
			r.Progress(fmt.Sprintf("%.0f of %.0f s, %d changes", passed.Seconds(), r.Time.Seconds(), made))
		}
		select {
		case <-ctx.Done():
			return made, 0, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (r *run) stop() error {
	var all []error
	for _, p := range r.children {
		all = append(all, p.stop())
	}
	return errors.Join(all...)
}
