package hot

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform/internal/diff"
)

var start = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

// TestFindsTheHottestInFewBytes: of 100,000 changes of as many objects, those few that
// change often are found, with counts that are not too low.
func TestFindsTheHottestInFewBytes(t *testing.T) {
	const bytes = 256 << 10
	r := rand.New(rand.NewPCG(1, 2))
	tr := NewTracker(start, bytes)
	exact := map[string]uint64{}
	for i := range 100_000 {
		key := fmt.Sprintf("ns-%d/cold-%d", r.IntN(5000), r.IntN(200_000))
		if i%10 == 0 {
			key = fmt.Sprintf("shop/hot-%d", r.IntN(5))
		}
		exact[key]++
		tr.Add(Change{Time: start.Add(time.Duration(i) * time.Millisecond), Type: Updated, Resource: "pods", Key: key,
			Fields: []Field{{fmt.Sprintf("status.field%d", i%40), fmt.Sprintf("manager-%d", i%3000)}}})
		if i%1000 == 0 && tr.Bytes() > bytes {
			t.Fatalf("%d bytes after %d changes, want %d at most", tr.Bytes(), i, bytes)
		}
	}
	rep := tr.Report(start.Add(100*time.Second), 5)
	for _, row := range rep.Objects {
		want := exact[row.Name]
		if !strings.HasPrefix(row.Name, "shop/hot-") || row.Changes < want || row.Changes-row.Over > want {
			t.Errorf("got %+v, which has changed %d times", row, want)
		}
	}
	if len(rep.Objects) != 5 || rep.Namespaces[0].Name != "shop" || rep.Kinds[0].Changes != 100_000 {
		t.Errorf("got %+v", rep)
	}
	// An object of many fields takes no more than its share.
	for i := range 10_000 {
		tr.Add(Change{Time: start, Type: Updated, Resource: "pods", Key: "shop/wide", Fields: []Field{{fmt.Sprintf("a%d", i), strings.Repeat("m", i%2000)}}})
	}
	if e := tr.objects.entries["pods shop/wide"]; e.object.bytes > mostOfObject || tr.Bytes() > bytes {
		t.Errorf("%d bytes of one object, %d of all", e.object.bytes, tr.Bytes())
	}
}

func TestRates(t *testing.T) {
	tr := NewTracker(start, 0)
	for i := range 600 { // ten a second for a minute, then nothing
		tr.Add(Change{Time: start.Add(time.Duration(i) * 100 * time.Millisecond), Type: Updated, Resource: "pods", Key: "a/b"})
	}
	tr.Add(Change{Time: start.Add(2 * time.Minute), Type: Added, Resource: "nodes", Key: "n"})
	if got := tr.Report(start.Add(time.Minute), 1).Objects[0]; got.Rate < 9 || got.Rate > 11 || got.Updated != 600 {
		t.Errorf("after a minute: got %+v, want ten a second", got)
	}
	later := tr.Lately(start.Add(2*time.Minute), 2)
	if later.Objects[0].Name != "n" || later.Objects[1].Rate > 0.1 || later.Objects[1].Mean != 5 {
		t.Errorf("after two: got %+v", later.Objects)
	}
}

func TestRateOfTheFirstSeconds(t *testing.T) {
	tr := NewTracker(start, 0)
	for i := range 20 {
		tr.Add(Change{Time: start.Add(time.Duration(i) * 100 * time.Millisecond), Type: Updated, Resource: "pods", Key: "a/b"})
	}
	if got := tr.Lately(start.Add(2*time.Second), 1).Objects[0].Rate; got < 9 || got > 11 {
		t.Errorf("got %g a second, want ten", got)
	}
}

func state(t *testing.T, text string) (object map[string]any, managed any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	managed = object["managed"]
	delete(object, "managed")
	return object, managed
}

func TestWriters(t *testing.T) {
	const (
		alice  = `{manager: alice, operation: Update, time: "%s", fieldsV1: %s}`
		bob    = `{manager: bob, operation: Update, time: "%s", fieldsV1: %s}`
		status = `{manager: alice, operation: Update, subresource: status, time: "%s", fieldsV1: %s}`
		spec   = `{"f:spec": {"f:replicas": {}, "f:containers": {'k:{"name":"web"}': {".": {}, "f:image": {}}}}}`
	)
	tests := []struct {
		name          string
		before, after string
		want          string
	}{
		{"a field changes hands",
			`{spec: {replicas: 1}, managed: [` + fmt.Sprintf(alice, "1", `{"f:spec": {"f:replicas": {}}}`) + `]}`,
			`{spec: {replicas: 2}, managed: [` + fmt.Sprintf(bob, "1", `{"f:spec": {"f:replicas": {}}}`) + `]}`,
			"spec.replicas bob"},
		{"the same manager within a second changes nothing of the managed fields",
			`{spec: {replicas: 1}, managed: [` + fmt.Sprintf(alice, "1", spec) + `, ` + fmt.Sprintf(bob, "3", `{"f:data": {}}`) + `]}`,
			`{spec: {replicas: 2}, managed: [` + fmt.Sprintf(alice, "1", spec) + `, ` + fmt.Sprintf(bob, "3", `{"f:data": {}}`) + `]}`,
			"spec.replicas alice"},
		{"an item of a list",
			`{spec: {containers: [{name: web, image: a}]}, managed: [` + fmt.Sprintf(alice, "1", spec) + `]}`,
			`{spec: {containers: [{name: web, image: b}]}, managed: [` + fmt.Sprintf(alice, "1", `{"f:spec": {"f:replicas": {}}}`) + `,` + fmt.Sprintf(bob, "2", spec) + `]}`,
			"spec.containers[web].image bob"},
		{"a list as a whole",
			`{args: [a], managed: [` + fmt.Sprintf(alice, "1", `{"f:args": {}}`) + `]}`,
			`{args: [b], managed: [` + fmt.Sprintf(alice, "2", `{"f:args": {}}`) + `]}`,
			"args[0] alice"},
		{"a field is removed",
			`{spec: {a: 1, b: 2}, managed: [` + fmt.Sprintf(alice, "1", `{"f:spec": {"f:a": {}, "f:b": {}}}`) + `]}`,
			`{spec: {b: 2}, managed: [` + fmt.Sprintf(alice, "1", `{"f:spec": {"f:b": {}}}`) + `,` + fmt.Sprintf(bob, "2", `{"f:spec": {}}`) + `]}`,
			"spec.a bob"},
		{"a field is removed by who owns nothing",
			`{spec: {a: 1}, managed: [` + fmt.Sprintf(alice, "1", `{"f:spec": {"f:a": {}}}`) + `]}`, `{spec: {}, managed: []}`, "spec.a "},
		{"two writers between two states",
			`{spec: {a: 1}, status: {b: 1}, managed: [` + fmt.Sprintf(bob, "1", `{"f:spec": {"f:a": {}}}`) + `]}`,
			`{spec: {a: 2}, status: {b: 2}, managed: [` + fmt.Sprintf(bob, "2", `{"f:spec": {"f:a": {}}}`) + `,` + fmt.Sprintf(status, "2", `{"f:status": {"f:b": {}}}`) + `]}`,
			"spec.a bob, status.b alice"},
		{"nothing but the time",
			`{managed: [` + fmt.Sprintf(alice, "1", `{"f:a": {}}`) + `]}`, `{managed: [` + fmt.Sprintf(alice, "2", `{"f:a": {}}`) + `]}`, " alice"},
		{"an object that does not tell", `{spec: {a: 1}}`, `{spec: {a: 2}}`, "spec.a "},
		{"nonsense", `{spec: {a: 1}, managed: 7}`, `{spec: {a: 2}, managed: [x, {manager: 3}, {fieldsV1: y}]}`, "spec.a "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, was := state(t, tt.before)
			after, is := state(t, tt.after)
			var got []string
			for _, f := range Writers(was, is, diff.Compare(before, after)) {
				got = append(got, f.Path+" "+f.Manager)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFindings(t *testing.T) {
	tr := NewTracker(start, 0)
	add := func(second int, resource, key, path, manager string) {
		tr.Add(Change{Time: start.Add(time.Duration(second) * time.Second), Type: Updated, Resource: resource, Key: key, Fields: []Field{{path, manager}}})
	}
	for i := range 40 {
		add(i, "deployments", "shop/web", "spec.replicas", []string{"scaler", "gitops"}[i%2])
		add(i, "deployments", "shop/web", "status.readyReplicas", "deployment-controller")
		add(i/2, "widgets", "shop/w", "status.lastSeen", "widget-controller")
		add(i, "pods", "shop/calm", "status.phase", []string{"kubelet", "kubelet", "janitor"}[min(i/15, 2)]) // one hands over to the other
		add(i, "leases", "kube-system/x", "spec.renewTime", []string{"a", "b", "c"}[i%3])
	}
	for i := range 20 { // begins late
		add(4000+i/4, "jobs", "shop/late", "status.active", "jobs")
	}
	for i := range 10 {
		add(4*i, "leases", "kube-system/leader", "spec.renewTime", "leader")
	}
	var got []string
	for _, f := range tr.Report(start.Add(4010*time.Second), 10).Findings {
		got = append(got, f.Text)
	}
	want := []string{
		"leases kube-system/x: managers a, b and c change spec.renewTime in turn, 39 times in 38 s",
		"deployments shop/web: managers gitops and scaler change spec.replicas in turn, 39 times in 38 s",
		"jobs shop/late: manager jobs changes status.active again and again, 20 times in 4 s",
		"widgets shop/w: manager widget-controller changes status.lastSeen again and again, 40 times in 19 s",
	}
	if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
