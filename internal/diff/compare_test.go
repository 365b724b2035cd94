package diff

import (
	"fmt"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// object reads YAML as client-go reads an object: whole numbers are int64.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("bad YAML in the test: %v\n%s", err, text)
	}
	return whole(m).(map[string]any)
}

func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}

func TestCompare(t *testing.T) {
	tests := []struct {
		name          string
		before, after string
		want          []string
	}{{
		name:   "equal",
		before: "{spec: {a: 1, b: [1, 2]}}",
		after:  "{spec: {a: 1, b: [1, 2]}}",
	}, {
		name:   "a value changes",
		before: "{status: {phase: Pending}}",
		after:  "{status: {phase: Running}}",
		want:   []string{"changed status.phase: Pending → Running"},
	}, {
		name:   "fields come and go, in order",
		before: "{spec: {b: 1, c: 2}}",
		after:  "{spec: {a: 3, b: 1}}",
		want:   []string{"added spec.a: <nil> → 3", "removed spec.c: 2 → <nil>"},
	}, {
		name:   "a number is not its text",
		before: "{spec: {port: 80}}",
		after:  "{spec: {port: '80'}}",
		want:   []string{"changed spec.port: 80 → 80"},
	}, {
		name:   "a map becomes a value",
		before: "{spec: {a: {b: 1}}}",
		after:  "{spec: {a: 1}}",
		want:   []string{"changed spec.a: map[b:1] → 1"},
	}, {
		name:   "names that dots would break",
		before: "{metadata: {labels: {app.kubernetes.io/name: a}}}",
		after:  "{metadata: {labels: {app.kubernetes.io/name: b}}}",
		want:   []string{"changed metadata.labels[app.kubernetes.io/name]: a → b"},
	}, {
		name:   "what changes with every write",
		before: "{metadata: {resourceVersion: '1', managedFields: [{manager: a}], annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}}",
		after:  "{metadata: {resourceVersion: '2', managedFields: [{manager: b}]}}",
	}, {
		name:   "other annotations than kubectl's",
		before: "{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}}",
		after:  "{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: y, a: b}}}",
		want:   []string{"added metadata.annotations: <nil> → map[a:b]"},
	}, {
		name:   "containers are matched by name, whatever their order",
		before: "{spec: {containers: [{name: web, image: 'a:1'}, {name: log, image: 'b:1'}]}}",
		after:  "{spec: {containers: [{name: log, image: 'b:1'}, {name: web, image: 'a:2'}]}}",
		want:   []string{"changed spec.containers[web].image: a:1 → a:2"},
	}, {
		name:   "conditions are matched by type",
		before: "{status: {conditions: [{type: Ready, status: 'False'}, {type: Old, status: 'True'}]}}",
		after:  "{status: {conditions: [{type: New, status: 'True'}, {type: Ready, status: 'True'}]}}",
		want: []string{
			"changed status.conditions[Ready].status: False → True",
			"removed status.conditions[Old]: map[status:True type:Old] → <nil>",
			"added status.conditions[New]: <nil> → map[status:True type:New]",
		},
	}, {
		name:   "mounts of one volume differ in their path",
		before: "{mounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b, readOnly: false}]}",
		after:  "{mounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b, readOnly: true}]}",
		want:   []string{"changed mounts[/b].readOnly: false → true"},
	}, {
		name:   "ports by number",
		before: "{ports: [{containerPort: 80}, {containerPort: 81, protocol: TCP}]}",
		after:  "{ports: [{containerPort: 80}, {containerPort: 81, protocol: UDP}]}",
		want:   []string{"changed ports[81].protocol: TCP → UDP"},
	}, {
		name:   "a name twice names nothing",
		before: "{env: [{name: A, value: '1'}, {name: A, value: '2'}]}",
		after:  "{env: [{name: A, value: '1'}, {name: A, value: '3'}]}",
		want:   []string{"changed env[1].value: 2 → 3"},
	}, {
		name:   "the first item of a list",
		before: "{containers: []}",
		after:  "{containers: [{name: web}]}",
		want:   []string{"added containers[web]: <nil> → map[name:web]"},
	}, {
		name:   "a plain item is inserted",
		before: "{args: [a, c]}",
		after:  "{args: [a, b, c]}",
		want:   []string{"added args[1]: <nil> → b"},
	}, {
		name:   "a plain item is removed",
		before: "{metadata: {finalizers: [a, b]}}",
		after:  "{metadata: {finalizers: [b]}}",
		want:   []string{"removed metadata.finalizers[0]: a → <nil>"},
	}, {
		name:   "a plain item changes",
		before: "{args: [--v=1, --x]}",
		after:  "{args: [--v=2, --x]}",
		want:   []string{"changed args[0]: --v=1 → --v=2"},
	}, {
		name:   "of equal items the last one goes",
		before: "{args: [a, a, b]}",
		after:  "{args: [a, b]}",
		want:   []string{"removed args[1]: a → <nil>"},
	}, {
		name:   "another order of plain items",
		before: "{args: [a, b]}",
		after:  "{args: [b, a]}",
		want:   []string{"changed args: [a b] → [b a]"},
	}, {
		name:   "items without names: the ones that both have do not count",
		before: "{endpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2], ready: false}]}",
		after:  "{endpoints: [{addresses: [10.0.0.2], ready: true}, {addresses: [10.0.0.1]}]}",
		want:   []string{"changed endpoints[0].ready: false → true"},
	}, {
		name:   "lists in lists",
		before: "{rows: [[1, 2], [3]]}",
		after:  "{rows: [[1, 2], [4]]}",
		want:   []string{"changed rows[1][0]: 3 → 4"},
	}, {
		name:   "null is a value",
		before: "{spec: {a: null}}",
		after:  "{spec: {}}",
		want:   []string{"removed spec.a: <nil> → <nil>"},
	}, {
		name:   "an object without metadata",
		before: "{}",
		after:  "{metadata: {name: a}}",
		want:   []string{"added metadata: <nil> → map[name:a]"},
	}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range Compare(object(t, tt.before), object(t, tt.after)) {
				got = append(got, fmt.Sprintf("%s %s: %v → %v", c.Op, c.Path, c.Old, c.New))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

func TestCleanLeavesTheObjectAsItIs(t *testing.T) {
	const text = "{metadata: {name: a, resourceVersion: '1', managedFields: [], annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}}"
	obj := object(t, text)
	if got, want := fmt.Sprint(Clean(obj)), "map[metadata:map[name:a]]"; got != want {
		t.Errorf("Clean: got %s, want %s", got, want)
	}
	if fmt.Sprint(obj) != fmt.Sprint(object(t, text)) {
		t.Errorf("Clean changed the object that it was given: %v", obj)
	}
}

func TestMinor(t *testing.T) {
	before := object(t, "{metadata: {generation: 1}, status: {conditions: [{type: Ready, status: 'False', lastTransitionTime: a}]}}")
	after := object(t, "{metadata: {generation: 2}, status: {conditions: [{type: Ready, status: 'True', lastTransitionTime: b}]}}")
	var major []string
	for _, c := range Compare(before, after) {
		if !c.Minor() {
			major = append(major, c.Path.String())
		}
	}
	if want := []string{"status.conditions[Ready].status"}; !slices.Equal(major, want) {
		t.Errorf("got %q, want %q", major, want)
	}
}
