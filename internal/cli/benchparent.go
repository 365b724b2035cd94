package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/kinform/kinform/internal/humane"
)

// The two sides.
const (
	clientGoSide = "client-go"
	kinformSide  = "kinform"
)

// sideCommand is the hidden command that a side's process runs.
const sideCommand = "bench-side"

// measurement is what a side took.
type measurement struct {
	Objects int64 `json:"objects"`
	Events  int64 `json:"events"` // while it watched
	// Sync is the time until everything was there and every handler had seen it.
	Sync time.Duration `json:"syncNanoseconds"`
	// CPU is the time of all cores, from the first request to the end.
	CPU      time.Duration `json:"cpuNanoseconds"`
	Received int64         `json:"receivedBytes"` // over the network
	// Memory is what the informers hold in the end, Peak the most that the process had;
	// 0 where that is not known.
	Memory int64 `json:"memoryBytes"`
	Peak   int64 `json:"peakBytes"`
}

// sideLine is a line that a side writes: how far it is, or in the end what it took.
type sideLine struct {
	Doing  string       `json:"doing,omitempty"`
	Result *measurement `json:"result,omitempty"`
}

// measure runs one side in a process of its own, and shows how far it is.
func (f *benchFlags) measure(ctx context.Context, s *screen, job benchJob) (measurement, error) {
	self, err := os.Executable()
	if err != nil {
		return measurement{}, &problem{what: "cannot find this program to start it again", why: innermost(err), cause: err}
	}
	input, err := json.Marshal(job)
	if err != nil {
		return measurement{}, err
	}
	cmd := exec.CommandContext(ctx, self, sideCommand, "--kubeconfig", f.kubeconfig, "--context", f.context)
	cmd.Stdin = bytes.NewReader(input)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return measurement{}, &problem{what: "cannot start " + self, why: innermost(err), cause: err}
	}
	result := follow(s, job.Library, out)
	err = cmd.Wait()
	s.setProgress("")
	if err == nil && result == nil {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		why := strings.TrimPrefix(strings.TrimSpace(said.String()), "kinform: ")
		if why == "" {
			why = innermost(err)
		}
		return measurement{}, &problem{what: "cannot measure " + job.Library, why: why, cause: err}
	}
	return *result, nil
}

// follow reads what a side writes until its end.
func follow(s *screen, library string, out io.Reader) *measurement {
	var result *measurement
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line sideLine
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue
		}
		if line.Result != nil {
			result = line.Result
		}
		if line.Doing != "" {
			s.setProgress(s.fit("measuring " + library + ": " + line.Doing))
		}
	}
	return result
}

// benchResult is what kinform bench shows.
type benchResult struct {
	Resources []string               `json:"resources"`
	Sides     map[string]measurement `json:"sides"`
	// Ratios are client-go's figures divided by kinform's.
	Ratios map[string]float64 `json:"ratios"`
}

// benchRow is a figure of both sides.
type benchRow struct {
	name   string
	value  func(measurement) float64
	write  func(measurement) string
	number bool // without a ratio
}

var benchRows = []benchRow{
	{"objects", func(m measurement) float64 { return float64(m.Objects) }, func(m measurement) string { return humane.Thousands(m.Objects) }, true},
	{"synced in", func(m measurement) float64 { return m.Sync.Seconds() }, func(m measurement) string { return short(m.Sync) }, false},
	{"changes seen", func(m measurement) float64 { return float64(m.Events) }, func(m measurement) string { return humane.Thousands(m.Events) }, true},
	{"CPU time", func(m measurement) float64 { return m.CPU.Seconds() }, func(m measurement) string { return short(m.CPU) }, false},
	{"received", func(m measurement) float64 { return float64(m.Received) }, func(m measurement) string { return humane.Size(m.Received) }, false},
	{"memory", func(m measurement) float64 { return float64(m.Memory) }, func(m measurement) string { return humane.Size(m.Memory) }, false},
	{"peak memory", func(m measurement) float64 { return float64(m.Peak) }, func(m measurement) string { return humane.Size(m.Peak) }, false},
}

// show prints the result.
func (f *benchFlags) show(s *screen, r benchResult) error {
	theirs, hasTheirs := r.Sides[clientGoSide]
	ours, hasOurs := r.Sides[kinformSide]
	r.Ratios = map[string]float64{}
	t := &table{head: []string{"", clientGoSide, kinformSide, "RATIO"}}
	t.right = []bool{false, true, true, true}
	for _, row := range benchRows {
		cells := []string{row.name, "-", "-", ""}
		if hasTheirs {
			cells[1] = row.write(theirs)
		}
		if hasOurs {
			cells[2] = row.write(ours)
		}
		if a, b := row.value(theirs), row.value(ours); !row.number && a > 0 && b > 0 {
			cells[3] = fmt.Sprintf("%.1f", a/b)
			r.Ratios[row.name] = a / b
		}
		t.add(cells...)
	}
	text, err := strings.Join(t.painted(s.colours, s.width()), "\n")+"\n", error(nil)
	if f.format == "json" {
		text, err = jsonText(r)
	}
	if err == nil {
		err = s.print(text)
	}
	if err != nil {
		return unwritten(err)
	}
	return nil
}
