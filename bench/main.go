package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/kinform/kinform/test/apiserver"
)

var (
	objectCount = flag.Int("objects", 50_000, "how many pods")
	rounds      = flag.Int("rounds", 3, "how many rounds; the median counts")
	profile     = flag.String("profile", "", "write CPU profiles of the last round to files that start with this")
)

func main() {
	if t := os.Getenv(taskVariable); t != "" {
		exit(child(t))
	}
	flag.Parse()
	exit(run(context.Background()))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(ctx context.Context) error {
	s, err := apiserver.Start(apiserver.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	began := time.Now()
	if err := populate(ctx, s, *objectCount); err != nil {
		return err
	}
	fmt.Printf("%d pods on the server after %.0f s\n", *objectCount, time.Since(began).Seconds())
	c := s.Config()
	config := server{Host: c.Host, Token: c.BearerToken, CA: c.CAData}
	checked, err := runChild(task{Impl: "verify", Config: config, Objects: *objectCount})
	if err != nil {
		return err
	}
	fmt.Printf("%d objects of the cache are equal to what the server lists, field by field\n", checked.Seen)
	for _, read := range []bool{true, false} {
		if err := compare(task{Read: read, Config: config, Objects: *objectCount}); err != nil {
			return err
		}
	}
	return nil
}

// compare runs both implementations in turn and prints the medians.
func compare(t task) error {
	impls := []string{"client-go", "kinform"}
	results := map[string][]result{}
	for round := range *rounds {
		for _, impl := range impls {
			t.Impl = impl
			if *profile != "" && round == *rounds-1 {
				t.Profile = fmt.Sprintf("%s-%s-read=%t.prof", *profile, impl, t.Read)
			}
			r, err := runChild(t)
			if err != nil {
				return err
			}
			if r.Seen != t.Objects {
				return fmt.Errorf("%s saw %d of %d objects", impl, r.Seen, t.Objects)
			}
			results[impl] = append(results[impl], r)
		}
	}
	fmt.Printf("\nsync of %d pods, handler reads each object: %t\n", t.Objects, t.Read)
	for _, m := range []struct {
		name string
		of   func(result) float64
		unit string
		per  float64
	}{
		{"time", func(r result) float64 { return r.Seconds }, "s", 1},
		{"CPU", func(r result) float64 { return r.CPU }, "s", 1},
		{"peak RSS", func(r result) float64 { return r.PeakRSS }, "MB", 1e6},
		{"memory per object", func(r result) float64 { return r.HeapObject }, "B", 1},
	} {
		peer, ours := median(results["client-go"], m.of), median(results["kinform"], m.of)
		fmt.Printf("%-16s client-go %9.2f %-2s  kinform %9.2f %-2s  ratio %.3f (1/%.1f)\n",
			m.name, peer/m.per, m.unit, ours/m.per, m.unit, ours/peer, peer/ours)
	}
	return nil
}

func median(rs []result, of func(result) float64) float64 {
	var xs []float64
	for _, r := range rs {
		xs = append(xs, of(r))
	}
	slices.Sort(xs)
	return xs[len(xs)/2]
}

func runChild(t task) (result, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return result{}, err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), taskVariable+"="+string(text))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return result{}, fmt.Errorf("%s: %w", t.Impl, err)
	}
	var r result
	err = json.Unmarshal(out.Bytes(), &r)
	return r, err
}
