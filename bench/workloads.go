package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kinform/kinform/internal/workloads"
)

// ceiling is the RSS above which a subject of a workload gives up: several times
// what client-go takes for the largest.
const ceiling = 1536 << 20

// runWorkloads runs the matrix of workloads. It is an error that a cell is worse
// than client-go's and nobody knows why.
func runWorkloads(ctx context.Context) error {
	chosen := workloads.Select(*only)
	if *only == "list" {
		for _, w := range workloads.All() {
			fmt.Printf("%-16s %s\n", w.Name, w.Title)
		}
		return nil
	}
	if len(chosen) == 0 {
		return fmt.Errorf("-only %s names no workload; -only list prints the names", *only)
	}
	m := matrixReport{time: *loadTime}
	began := time.Now()
	var failed []error
	for i, w := range chosen {
		show := progressLine(fmt.Sprintf("%d of %d, %s", i+1, len(chosen), w.Name))
		r, err := runWorkload(ctx, w, show)
		show("")
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", w.Name, err))
			fmt.Fprintln(os.Stderr, "bench: goes on without", failed[len(failed)-1])
			if ctx.Err() != nil {
				break
			}
			continue
		}
		m.done = append(m.done, r)
		fmt.Print(r.lines())
	}
	m.took = time.Since(began)
	if *docs != "" {
		if err := os.WriteFile(filepath.Join(*docs, "workloads.md"), []byte(m.text()), 0o644); err != nil {
			return err
		}
	}
	for _, text := range m.unexplained() {
		failed = append(failed, errors.New(text))
	}
	return errors.Join(failed...)
}

// runWorkload runs one workload, and measures how busy the machine was with it.
func runWorkload(ctx context.Context, w workloads.Workload, show func(string)) (workloadResult, error) {
	before := cpu()
	r, err := workloads.Run(ctx, w, workloads.Options{Program: os.Args[0], Time: *loadTime, Ceiling: ceiling, Progress: show})
	return workloadResult{Result: r, server: cpu() - before}, err
}

// progressLine shows what goes on in one line of a terminal. Elsewhere it says only
// what has begun.
func progressLine(title string) func(string) {
	info, err := os.Stderr.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		fmt.Fprintln(os.Stderr, title)
		return func(string) {}
	}
	return func(text string) {
		if text == "" {
			fmt.Fprint(os.Stderr, "\r\x1b[K")
			return
		}
		fmt.Fprintf(os.Stderr, "\r\x1b[K%s: %s", title, text)
	}
}
