// Package mutation finds objects that a reader changed: it compares what was handed
// out with what the bytes decode to.
//
// What may live here: remembering what was handed out, comparing, naming the fields
// that differ. What may not: values of fields, which may be secret, and anything
// that asks a server.
package mutation

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mode says how much is looked at.
type Mode uint8

// The modes.
const (
	Off Mode = iota
	Sampled
	Full
)

// Report is one object that was changed.
type Report struct {
	Key  string
	Type string
	// Fields are the paths that differ, ten at most, without their values.
	Fields []string
	// Readers are the places in the program that got the object, in mode Full.
	Readers []string
}

// String is one line for people.
func (r Report) String() string {
	s := fmt.Sprintf("%s (%s) was changed by a reader: %s", r.Key, r.Type, strings.Join(r.Fields, ", "))
	if len(r.Readers) > 0 {
		s += "; read by " + strings.Join(r.Readers, ", ")
	}
	return s
}

// Handed is an object that is handed out.
type Handed struct {
	Key    string
	Object any
	// Fresh decodes the object again, from the bytes.
	Fresh func() (any, error)
	// Forget evicts the object, so that the next reader gets a newly decoded one.
	Forget func()
}

// Detector remembers objects and compares them, at intervals and a last time when it
// drops them. It remembers few of them, and runs no goroutine while it has none. It reads objects while others may change them: in a program built with
// -race, that is reported as the race that it is.
type Detector struct {
	full   bool
	report func(Report)

	mu    sync.Mutex
	known map[any]*entry
	order []*entry // oldest first
	tick  *time.Timer
}

type entry struct {
	Handed
	readers  []string
	until    time.Time
	reported bool
}

const (
	// sampleOneOf is how many objects are handed out for each that is remembered.
	sampleOneOf = 1024
	mostSampled = 64
	mostFull    = 1 << 15
	mostReaders = 8
	// keep is how long an object is remembered after it was last handed out.
	keep          = time.Minute
	periodSampled = 10 * time.Second
	periodFull    = time.Second
)

// New returns a detector, nil for Off. Each change that it finds is reported once.
func New(m Mode, report func(Report)) *Detector {
	if m == Off {
		return nil
	}
	return &Detector{full: m == Full, report: report, known: map[any]*entry{}}
}

// Wants reports whether an object that is handed out now is to be remembered.
func (d *Detector) Wants() bool { return d != nil && (d.full || rand.Uint32N(sampleOneOf) == 0) }

// Remember takes in an object that is handed out. Own is the prefix of functions
// that are not the reader's.
func (d *Detector) Remember(h Handed, own string) {
	reader := ""
	if d.full {
		reader = caller(own)
	}
	d.mu.Lock()
	e := d.known[h.Object]
	if e == nil {
		e = &entry{Handed: h}
		d.known[h.Object] = e
		d.order = append(d.order, e)
	}
	e.until = time.Now().Add(keep)
	if reader != "" && len(e.readers) < mostReaders && !slices.Contains(e.readers, reader) {
		e.readers = append(e.readers, reader)
	}
	var out *entry
	if len(d.order) > d.most() {
		out = d.order[0]
		d.dropLocked(out)
	}
	if d.tick == nil {
		d.tick = time.AfterFunc(d.period(), d.look)
	}
	d.mu.Unlock()
	if out != nil {
		d.compare(out)
	}
}

func (d *Detector) most() int {
	if d.full {
		return mostFull
	}
	return mostSampled
}

func (d *Detector) period() time.Duration {
	if d.full {
		return periodFull
	}
	return periodSampled
}

// dropLocked forgets an entry. Mostly it is the oldest.
func (d *Detector) dropLocked(e *entry) {
	delete(d.known, e.Object)
	if i := slices.Index(d.order, e); i >= 0 {
		d.order = slices.Delete(d.order, i, i+1)
	}
}

// look compares what is remembered, and drops what was handed out long ago.
func (d *Detector) look() {
	d.Check()
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.order = slices.DeleteFunc(d.order, func(e *entry) bool {
		old := e.until.Before(now)
		if old {
			delete(d.known, e.Object)
		}
		return old
	})
	d.tick = nil
	if len(d.order) > 0 {
		d.tick = time.AfterFunc(d.period(), d.look)
	}
}

// Check compares everything that is remembered, now.
func (d *Detector) Check() {
	d.mu.Lock()
	all := slices.Clone(d.order)
	d.mu.Unlock()
	for _, e := range all {
		d.compare(e)
	}
}

// Close compares a last time, and forgets everything.
func (d *Detector) Close() {
	if d == nil {
		return
	}
	d.Check()
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.known)
	d.order = nil
	if d.tick != nil {
		d.tick.Stop()
		d.tick = nil
	}
}

// compare reports an entry whose object is not what the bytes make.
func (d *Detector) compare(e *entry) {
	fresh, err := e.Fresh()
	if err != nil || equal(fresh, e.Object) {
		return
	}
	fields := Fields(fresh, e.Object)
	d.mu.Lock()
	if len(fields) == 0 || e.reported {
		d.mu.Unlock()
		return
	}
	e.reported = true
	d.dropLocked(e)
	r := Report{Key: e.Key, Type: fmt.Sprintf("%T", e.Object), Fields: fields, Readers: slices.Clone(e.readers)}
	d.mu.Unlock()
	e.Forget()
	d.report(r)
}

// caller is the first place up the stack that is not in one of our functions.
func caller(own string) string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, own) && !strings.Contains(f.Function, "/internal/mutation.(*Detector).") {
			return fmt.Sprintf("%s (%s:%d)", f.Function, f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		if !more {
			return ""
		}
	}
}
