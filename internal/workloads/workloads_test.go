package workloads

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// program runs the workloads.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "workloads")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "subject")
		if out, err := exec.Command("go", "build", "-o", program, "./subject").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the subject: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// The bounds of what kinform may hold, in bytes. None of them depends on time: the
// next changes are made when every subject has seen the last.
const (
	// beyond is what kinform may hold beyond client-go, on the heap after a
	// collection and outside of it together: the states that a watch sent last,
	// which are not packed yet, and what was decoded in passing.
	beyond = 32 * mib
	// mappedBeyond is what may be mapped, at any step, beyond twice the objects as
	// they travel.
	mappedBeyond = 32 * mib
)

// small is the matrix: each workload with so many changes that what grows with
// them, or with the number of states, is far beyond the bounds.
var small = []Request{
	{Workload: "events", Options: Options{Changes: 8000, Step: 200}},
	{Workload: "leases", Options: Options{Changes: 6000, Step: 300}},
	{Workload: "random-1k", Options: Options{Changes: 6000, Step: 300}},
	{Workload: "random-100k", Objects: 50, Options: Options{Changes: 800, Step: 20}},
	{Workload: "random-1m", Objects: 5, Options: Options{Changes: 100, Step: 5}},
	{Workload: "endpointslices", Options: Options{Changes: 800, Step: 40}},
	{Workload: "custom-200k", Options: Options{Changes: 300, Step: 15}},
	{Workload: "rollout", Objects: 2000, Options: Options{Changes: 6000, Step: 200}},
	{Workload: "recreate", Objects: 300, Options: Options{Changes: 3000, Step: 100}},
	{Workload: "list", Objects: 1000, Options: Options{Changes: 1000, Step: 50}},
	{Workload: "gets", Objects: 1000, Options: Options{Changes: 1000, Step: 50}},
	{Workload: "slow", Objects: 100, Use: &Use{Handlers: 3, Read: true, Slow: time.Millisecond}, Options: Options{Changes: 3000, Step: 1500}},
	{Workload: "visitor", Objects: 300, Use: &Use{Visit: time.Nanosecond}, Options: Options{Changes: 300, Step: 6}},
	{Workload: "hot-95k", Options: Options{Changes: 2200, Step: 20}},
	{Workload: "keys-20k", Options: Options{Changes: 15_000, Step: 150, Subjects: Subjects()[3:]}},
}

// TestMemoryIsBounded: whatever the objects are and whatever is done with them,
// kinform holds about what client-go holds, or less, and has not much more mapped
// than the objects weigh.
func TestMemoryIsBounded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Logf("memory outside the heap cannot be read on %s", runtime.GOOS)
		return
	}
	for _, r := range small {
		t.Run(r.Workload, func(t *testing.T) {
			if r.Options.Subjects == nil {
				r.Options.Subjects = Subjects()[:3]
			}
			result := play(t, r)
			peer := result.Reports[0]
			if peer.Failed != "" {
				t.Fatalf("client-go: %s", peer.Failed)
			}
			t.Logf("%d objects, %s; %d changes; client-go holds %s", result.Objects, inMiB(result.Bytes), result.Changes, inMiB(peer.Live))
			for _, o := range result.Reports[1:] {
				judge(t, o, peer, result.Bytes)
			}
		})
	}
}

func judge(t *testing.T, o, peer Outcome, store int64) {
	t.Helper()
	var mapped int64
	for _, s := range o.Steps {
		mapped = max(mapped, s.Mapped)
	}
	t.Logf("%-15s holds %s on the heap and %s mapped; had at most %s mapped; %d collections", o.Name, inMiB(o.Live), inMiB(o.LiveMapped), inMiB(mapped), o.GCs)
	if o.Failed != "" {
		t.Errorf("%s: %s", o.Name, o.Failed)
		return
	}
	if held, limit := o.Live+o.LiveMapped, peer.Live+beyond; held > limit {
		t.Errorf("%s holds %s, more than %s: client-go's %s and %s", o.Name, inMiB(held), inMiB(limit), inMiB(peer.Live), inMiB(beyond))
	}
	if limit := 2*store + mappedBeyond; mapped > limit {
		t.Errorf("%s had %s mapped, more than %s: twice the objects' %s and %s", o.Name, inMiB(mapped), inMiB(limit), inMiB(store), inMiB(mappedBeyond))
	}
}

func inMiB(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/mib) }

// play has a workload run in another process.
func play(t *testing.T, r Request) Result {
	t.Helper()
	r.Options.Ceiling = 2 << 30 // the machine has others to serve
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin = bytes.NewReader(text)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	var result Result
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		t.Fatal(err)
	}
	return result
}
