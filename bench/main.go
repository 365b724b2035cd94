package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kinform/kinform/internal/workloads"
)

var (
	objectCount   = flag.Int("objects", 50_000, "how many pods, and how many custom resources")
	rounds        = flag.Int("rounds", 3, "how many rounds; the median counts")
	only          = flag.String("only", "", "run only what starts with one of these names, separated by commas; \"list\" prints the names")
	profile       = flag.String("profile", "", "write CPU profiles of the last round to files that start with this")
	million       = flag.Bool("million", false, "let the growth go up to a million pods (the server takes some GB); otherwise up to -objects")
	docs          = flag.String("docs", "", "write benchmarks.md and the charts into this folder")
	matrix        = flag.Bool("workloads", false, "run the matrix of workloads instead, and write workloads.md into the folder of -docs; -only selects, as with benchmarks")
	loadTime      = flag.Duration("time", 2*time.Minute, "how long the load of each workload lasts")
	idleTime      = flag.Duration("idle", 210*time.Second, "how long kube-controller-manager is watched while nothing changes")
	loosePods     = flag.Bool("loose", false, "let the pods of kube-controller-manager and kube-scheduler have neither node nor owner, so that nobody reads all of them but sweeps every 20 s")
	kinformSource = flag.String("kinform", "..", "the folder of the kinform that programs of Kubernetes are built with")
	study         = flag.Bool("study", false, "compare ways of packing instead; see docs/evidence/packing.md")
)

func main() {
	if workloads.IsChild() {
		exit(workloads.Child())
	}
	if t := os.Getenv(taskVariable); t != "" {
		exit(child(t))
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *study {
		exit(runStudy(*objectCount))
	}
	if *matrix {
		exit(runWorkloads(ctx))
	}
	exit(run(ctx))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context) error {
	chosen := choose(benchmarks(*objectCount), *only)
	if *only == "list" {
		for _, b := range benchmarks(*objectCount) {
			fmt.Printf("%-16s %s\n", b.name, b.title)
		}
		return nil
	}
	if len(chosen) == 0 {
		return fmt.Errorf("-only %s names nothing; -only list prints the names", *only)
	}
	began := time.Now()
	l := &lab{objects: *objectCount}
	defer l.close()
	var done []outcome
	var failed []error
	for i, b := range chosen {
		if i > 0 && !staysFor(chosen[i-1].server, b.server) {
			l.close() // what is idle still takes memory, and now and then a core
		}
		o, err := b.run(ctx, l)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", b.name, err))
			fmt.Fprintln(os.Stderr, "bench: goes on without", failed[len(failed)-1])
			if ctx.Err() != nil {
				break
			}
			continue // hours of measuring are not thrown away for one failure
		}
		done = append(done, o)
		fmt.Print(o.lines())
	}
	r := report{objects: *objectCount, rounds: *rounds, took: time.Since(began), done: done}
	fmt.Printf("\n%s", r.table())
	if *docs != "" {
		if err := r.write(*docs); err != nil {
			return err
		}
	}
	if missed := r.missed(); len(missed) > 0 {
		for _, m := range missed {
			fmt.Fprintln(os.Stderr, "bench: worse than its limit:", m)
		}
		failed = append(failed, errors.New("some ratios are worse than their limits"))
	}
	return errors.Join(failed...)
}
