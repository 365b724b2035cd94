package workloads

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	// collection and outside it together: the states that a watch sent last,
	// which are not packed yet, and what was decoded in passing.
	beyond = 32 * mib
	// mappedBeyond is what may be mapped, at any step, beyond twice the objects as
	// they travel.
	mappedBeyond = 32 * mib
)

// smallWorkload is a workload with so many changes that what grows with them, or
// with the number of states, is far beyond the bounds.
type smallWorkload struct {
	Request
	// alike: the objects resemble each other and are more than the bounds weigh, so
	// that half of what client-go holds must do.
	alike bool
}

var small = []smallWorkload{
	{Request: Request{Workload: "events", Options: Options{Changes: 8000, Step: 200}}},
	{Request: Request{Workload: "leases", Options: Options{Changes: 6000, Step: 300}}},
	{Request: Request{Workload: "random-1k", Options: Options{Changes: 6000, Step: 300}}},
	{Request: Request{Workload: "random-100k", Objects: 50, Options: Options{Changes: 800, Step: 20}}},
	{Request: Request{Workload: "random-1m", Objects: 5, Options: Options{Changes: 100, Step: 5}}},
	{Request: Request{Workload: "endpointslices", Options: Options{Changes: 800, Step: 40}}},
	{Request: Request{Workload: "custom-200k", Options: Options{Changes: 300, Step: 15}}},
	{alike: true, Request: Request{Workload: "rollout", Objects: 6000, Options: Options{Changes: 6000, Step: 200}}},
	{Request: Request{Workload: "recreate", Objects: 300, Options: Options{Changes: 3000, Step: 100}}},
	{Request: Request{Workload: "list", Objects: 1000, Options: Options{Changes: 1000, Step: 50}}},
	{Request: Request{Workload: "gets", Objects: 1000, Options: Options{Changes: 1000, Step: 50}}},
	{Request: Request{Workload: "slow", Objects: 100, Use: &Use{Handlers: 3, Read: true, Slow: time.Millisecond}, Options: Options{Changes: 3000, Step: 1500}}},
	{Request: Request{Workload: "visitor", Objects: 300, Use: &Use{Visit: time.Nanosecond}, Options: Options{Changes: 300, Step: 6}}},
	{Request: Request{Workload: "hot-95k", Options: Options{Changes: 2200, Step: 20}}},
	{Request: Request{Workload: "keys-20k", Options: Options{Changes: 15_000, Step: 150, Subjects: Subjects()[3:]}}},
}

type limits struct{ held, mapped int64 }

func (s smallWorkload) limits(peer Outcome, objects int64) limits {
	l := limits{held: peer.Live + beyond, mapped: 2*objects + mappedBeyond}
	if s.alike {
		l.held = peer.Live / 2
	}
	return l
}

// TestMemoryIsBounded: whatever the objects are and whatever is done with them,
// kinform holds about what client-go holds, or less, and has not much more mapped
// than the objects weigh.
func TestMemoryIsBounded(t *testing.T) {
	for _, c := range small {
		t.Run(c.Workload, func(t *testing.T) {
			r := c.Request
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
				judge(t, c.limits(peer, result.Bytes), o)
			}
		})
	}
}

func judge(t *testing.T, l limits, o Outcome) {
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
	if held := o.Live + o.LiveMapped; held > l.held {
		t.Errorf("%s holds %s, the limit is %s", o.Name, inMiB(held), inMiB(l.held))
	}
	if mapped > l.mapped {
		t.Errorf("%s had %s mapped, the limit is %s", o.Name, inMiB(mapped), inMiB(l.mapped))
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
