package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/diff"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

const podBefore = `
apiVersion: v1
kind: Pod
metadata:
  name: web-0
  namespace: shop
  resourceVersion: "100"
  generation: 1
  creationTimestamp: "2026-03-14T09:00:00Z"
  labels: {app.kubernetes.io/name: web}
  managedFields: [{manager: a}]
spec:
  nodeName: node-7
  containers:
  - {name: web, image: "registry.example.com/team/shop/frontend/web:v1.2.3", args: [--v=1, --x]}
  - {name: log, image: "log:1"}
status:
  phase: Pending
  conditions:
  - {type: Ready, status: "False", reason: ContainersNotReady, message: "containers with unready status: [web]", lastTransitionTime: "2026-03-14T09:00:00Z"}
  containerStatuses:
  - {name: web, ready: false, restartCount: 0, state: {waiting: {reason: ContainerCreating}}}
`

const podAfter = `
apiVersion: v1
kind: Pod
metadata:
  name: web-0
  namespace: shop
  resourceVersion: "107"
  generation: 2
  creationTimestamp: "2026-03-14T09:00:00Z"
  labels: {app.kubernetes.io/name: web, tier: front}
  managedFields: [{manager: b}]
spec:
  nodeName: node-7
  containers:
  - {name: log, image: "log:1"}
  - {name: web, image: "registry.example.com/team/shop/frontend/web:v1.2.4", args: [--v=1, --y, --x]}
status:
  phase: Running
  podIP: 10.0.0.3
  conditions:
  - {type: Ready, status: "True", lastTransitionTime: "2026-03-14T09:00:09Z"}
  - {type: PodScheduled, status: "True", lastTransitionTime: "2026-03-14T09:00:01Z", lastProbeTime: null}
  containerStatuses:
  - {name: web, ready: true, restartCount: 0, state: {running: {startedAt: "2026-03-14T09:00:08Z"}}}
`

const configBefore = "{kind: ConfigMap, metadata: {name: app, namespace: shop}, data: {mode: dark, app.conf: \"a = 1\\nb = 2\\nc = 3\\nd = 4\\ne = 5\\nf = 6\"}}"
const configAfter = "{kind: ConfigMap, metadata: {name: app, namespace: shop}, data: {mode: light, app.conf: \"a = 1\\nb = 2\\nc = 30\\nd = 4\\ne = 5\\nf = 6\\ng = 7\\n\"}}"

const event = `
kind: Event
metadata: {name: web-0.17f0c, namespace: shop}
involvedObject: {kind: Pod, name: web-0}
type: Warning
reason: BackOff
message: Back-off restarting failed container web of pod web-0, which has failed for the seventh time in a row
`

// changes are one of each kind.
func changes(t *testing.T) []change {
	t.Helper()
	read := func(text string) map[string]any {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	now := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	updated := func(resource, key, before, after string) change {
		b, a := read(before), read(after)
		return change{
			Time: now, Kind: kinform.EventUpdated, Resource: resource, Key: key, WasVersion: "100", Version: "107",
			Before: b, After: a, Fields: diff.Compare(b, a),
		}
	}
	return []change{
		{Time: now, Kind: kinform.EventAdded, Resource: "pods", Key: "shop/web-0", Version: "100", After: read(podBefore)},
		updated("pods", "shop/web-0", podBefore, podAfter),
		updated("configmaps", "shop/app", configBefore, configAfter),
		updated("configmaps", "shop/app", configBefore, configBefore),
		{Time: now, Kind: kinform.EventAdded, Resource: "events", Key: "shop/web-0.17f0c", Version: "108", After: read(event)},
		{Time: now, Kind: kinform.EventDeleted, Resource: "pods", Key: "shop/web-0", Version: "109", After: read(podAfter)},
		{Time: now, Kind: kinform.EventDeleted, Resource: "configmaps", Key: "shop/app", Version: "110", Missed: true, After: read(configAfter)},
	}
}

func printed(t *testing.T, p printer) string {
	t.Helper()
	var b strings.Builder
	for _, c := range changes(t) {
		text, err := p.text(c)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(text)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	wide := func(n int) func() int { return func() int { return n } }
	line := func(width int, colours bool) *linePrinter {
		return &linePrinter{palette: palette{on: colours}, width: wide(width), resource: 10, key: 12}
	}
	tests := []struct {
		file string
		printer
	}{
		{"diff.golden", unifiedPrinter{}},
		{"diff-colours.golden", unifiedPrinter{palette{on: true}}},
		{"line.golden", line(0, false)},
		{"line-80.golden", line(80, false)},
		{"line-colours.golden", line(120, true)},
		{"json.golden", jsonPrinter{}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) { golden(t, tt.file, printed(t, tt.printer)) })
	}
}

func TestLinesFitTheTerminal(t *testing.T) {
	for width := 20; width <= 200; width++ {
		p := &linePrinter{width: func() int { return width }, resource: 10, key: keyColumn}
		for _, c := range append(changes(t), crash(t)) {
			text := must(p.text(c))(t)
			if n := columns(strings.TrimSuffix(text, "\n")); n > width || strings.Count(text, "\n") != 1 {
				t.Errorf("%d columns on a terminal of %d: %q", n, width, text)
			}
		}
	}
}

// crash is a container that failed again, of a pod with a long name.
func crash(t *testing.T) change {
	t.Helper()
	const pod = `{kind: Pod, metadata: {name: x}, status: {phase: Running, conditions: [
		{type: Ready, status: "%[1]s", lastTransitionTime: "%[2]s", message: "%[3]s"},
		{type: ContainersReady, status: "%[1]s", lastTransitionTime: "%[2]s", message: "%[3]s"}],
		containerStatuses: [{name: web, containerID: "containerd://%[2]s", ready: %[4]s, started: %[4]s, restartCount: %[5]s, state: %[6]s,
		lastState: {terminated: {exitCode: 1, reason: Error, finishedAt: "%[2]s", startedAt: "%[2]s", containerID: "containerd://%[2]s"}}}]}}`
	read := func(args ...any) (m map[string]any) {
		if err := yaml.Unmarshal(fmt.Appendf(nil, pod, args...), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	before := read("True", "2026-03-14T09:00:00Z", "", "true", "6", `{running: {startedAt: "2026-03-14T09:00:00Z"}}`)
	after := read("False", "2026-03-14T09:05:00Z", "containers with unready status: [web]", "false", "7",
		`{waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container=web pod=frontend-7c9d5f6b8-x2z4q_shop(0f1e)"}}`)
	return change{
		Time: time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC), Kind: kinform.EventUpdated, Resource: "pods",
		Key: "shop/frontend-7c9d5f6b8-x2z4q", Before: before, After: after, Fields: diff.Compare(before, after),
	}
}

func TestCrashTakesOneLine(t *testing.T) {
	for width, want := range map[int]string{
		80:  "09:26:53  updated  pods  shop/frontend-…-x2z4q  …waiting: CrashLoopBackOff; +6",
		160: "status.containerStatuses[web].state.waiting: + {reason: CrashLoopBackOff}; …restartCount: 6 → 7; +5 more",
	} {
		p := &linePrinter{width: func() int { return width }, resource: 4, key: keyColumn}
		if got := must(p.text(crash(t)))(t); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 || columns(got) > width+1 {
			t.Errorf("got  %q\nwant one line of %d columns with %q", got, width, want)
		}
	}
	only := &linePrinter{width: func() int { return 80 }, resource: 4, key: keyColumn, only: true}
	if got, want := must(only.text(crash(t)))(t), "09:26:53  updated  shop/frontend-7…8-x2z4q  …waiting: CrashLoopBackOff; +6"; !strings.HasPrefix(got, want) {
		t.Errorf("of one resource: got %q, want %q", got, want)
	}
	whole := must((&linePrinter{width: func() int { return 0 }}).text(crash(t)))(t)
	if strings.Contains(whole, "more") || !strings.Contains(whole, "status.conditions[Ready].status: True → False") {
		t.Errorf("without a terminal it is not whole: %s", whole)
	}
}

// TestTerminalIsSafe has objects try to speak to the terminal.
func TestTerminalIsSafe(t *testing.T) {
	const evil = "a\x1b[31mb\u009b2Jc\rd\ae\nf"
	event := map[string]any{"kind": "Event", "reason": evil, "message": evil, "involvedObject": map[string]any{"kind": evil, "name": evil}}
	before := map[string]any{"data": map[string]any{evil: "1", "text": "1\n2\n3\n", "old": evil, "word": "x"}}
	after := map[string]any{"data": map[string]any{evil: "2", "text": "1\n" + evil + "\n3\n", "word": evil}}
	for _, c := range []change{
		{Kind: kinform.EventAdded, Resource: "events", Key: "a", After: event},
		{Kind: kinform.EventDeleted, Resource: "events", Key: "a", After: event},
		{Kind: kinform.EventUpdated, Resource: "configmaps", Key: "a", Before: before, After: after, Fields: diff.Compare(before, after)},
	} {
		for _, p := range []printer{unifiedPrinter{}, &linePrinter{width: func() int { return 0 }}, &linePrinter{width: func() int { return 90 }}} {
			text, err := p.text(c)
			if err != nil {
				t.Fatal(err)
			}
			if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 {
				t.Errorf("%T lets %q through in %q", p, text[i], text)
			}
		}
	}
}
