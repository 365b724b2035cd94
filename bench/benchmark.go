package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kinform/kinform/bench/programs"
)

// A benchmark is one piece of work that several sides do in turn.
type benchmark struct {
	name  string // what -only selects
	title string // what it is called in the table
	text  string // what the document says about it
	// server is where the objects come from; "" is nowhere.
	server string
	// sides do the work; the first is what the others are compared with.
	sides []side
	rows  []row
	// once: one round tells all there is.
	once bool
	// grows: the sides are sizes of one program, not programs of one size.
	grows bool
}

// A side is one way to do the work.
type side struct {
	name string
	task task
	env  []string
	// tag, if there is one, is the build tag of the program that does the work, so that
	// what it links weighs on no other side.
	tag string
	// build, if there is one, builds the program that is measured.
	build func(context.Context, programs.Builder) (string, error)
	// objects, if not 0, is how many the server has for this side.
	objects int
}

// A row is one figure of a benchmark with the worst ratio that is accepted.
type row struct {
	side   int // which side it is about
	title  string
	metric string
	unit   unit
	// limit is the worst ratio to the first side, 0 where the ratio is only
	// reported.
	limit float64
	// more: a larger figure is better.
	more bool
	// absolute: limit is the largest figure, not a ratio.
	absolute bool
}

// An outcome is what the sides of a benchmark measured.
type outcome struct {
	benchmark
	medians []metrics // by side
}

// run has every side do the work in turn, and returns the medians.
func (b benchmark) run(ctx context.Context, l *lab) (outcome, error) {
	all := make([][]metrics, len(b.sides))
	n := *rounds
	if b.once {
		n = 1
	}
	for round := range n {
		for _, i := range b.order(round) {
			s, t := b.sides[i], b.sides[i].task
			if t.Objects == 0 {
				t.Objects = l.objects
			}
			var err error
			if t.Server, err = l.server(ctx, b.server, t.Objects); err != nil {
				return outcome{}, err
			}
			if *profile != "" && round == n-1 {
				t.Profile = fmt.Sprintf("%s-%s-%d.prof", *profile, b.name, i)
			}
			program, err := l.program(ctx, s.tag)
			if err != nil {
				return outcome{}, err
			}
			if s.build != nil {
				if t.Program, err = s.build(ctx, builder()); err != nil {
					return outcome{}, err
				}
				t.Idle = *idleTime
			}
			before, began := serverCPU(ctx, t.Server), time.Now()
			m, err := runChild(ctx, program, t, s.env)
			if err != nil {
				return outcome{}, fmt.Errorf("%s: %w", s.name, err)
			}
			m["server cpu"] = serverCPU(ctx, t.Server) - before
			fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s took %.1f s\n", b.name, round+1, n, s.name, time.Since(began).Seconds())
			all[i] = append(all[i], m)
		}
	}
	o := outcome{benchmark: b}
	for _, ms := range all {
		o.medians = append(o.medians, median(ms))
	}
	return o, nil
}

// order is the order in which the sides take their turn in a round: every other round
// it is turned around, as who comes first finds another machine than who comes last.
func (b benchmark) order(round int) []int {
	var sides []int
	for i := range b.sides {
		sides = append(sides, i)
	}
	if round%2 == 1 {
		slices.Reverse(sides)
	}
	return sides
}

// builder builds the programs that are measured from outside.
func builder() programs.Builder {
	return programs.Builder{Module: filepath.Join("programs", "kubernetes"), Kinform: *kinformSource, Progress: os.Stderr}
}

// median takes the median of each metric.
func median(ms []metrics) metrics {
	out := metrics{}
	for name := range ms[0] {
		var xs []float64
		for _, m := range ms {
			xs = append(xs, m[name])
		}
		slices.Sort(xs)
		out[name] = xs[len(xs)/2]
	}
	return out
}

// longest is how long one run may take.
const longest = 15 * time.Minute

// runChild has a program, in a process of its own, run a task.
func runChild(ctx context.Context, program string, t task, env []string) (metrics, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(append(os.Environ(), taskVariable+"="+string(text)), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, errors.Join(err, context.Cause(ctx))
	}
	var m metrics
	if err := json.Unmarshal(out.Bytes(), &m); err != nil {
		return nil, fmt.Errorf("the child's answer %q: %w", out.String(), err)
	}
	return m, nil
}

// choose returns those whose name starts with one of the words.
func choose(all []benchmark, words string) []benchmark {
	if words == "" {
		return all
	}
	var chosen []benchmark
	for _, b := range all {
		for w := range strings.SplitSeq(words, ",") {
			if strings.HasPrefix(b.name, strings.TrimSpace(w)) {
				chosen = append(chosen, b)
				break
			}
		}
	}
	return chosen
}
