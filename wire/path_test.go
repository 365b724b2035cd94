package wire

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kinform/kinform/internal/objects"
)

var podPaths = map[string]func(*corev1.Pod) []string{
	"metadata.name":  func(p *corev1.Pod) []string { return []string{p.Name} },
	".spec.nodeName": func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} },
	"status.phase":   func(p *corev1.Pod) []string { return []string{string(p.Status.Phase)} },
	"metadata.ownerReferences.uid": func(p *corev1.Pod) (v []string) {
		for _, o := range p.OwnerReferences {
			v = append(v, string(o.UID))
		}
		return v
	},
	"spec.containers.image": func(p *corev1.Pod) (v []string) {
		for _, c := range p.Spec.Containers {
			v = append(v, c.Image)
		}
		return v
	},
	"spec.containers.ports.containerPort": func(p *corev1.Pod) (v []string) {
		for _, c := range p.Spec.Containers {
			for _, port := range c.Ports {
				v = append(v, strconv.Itoa(int(port.ContainerPort)))
			}
		}
		return v
	},
	"spec.volumes.configMap.name": func(p *corev1.Pod) (v []string) { // inlined twice in JSON
		for _, vol := range p.Spec.Volumes {
			if vol.ConfigMap != nil {
				v = append(v, vol.ConfigMap.Name)
			}
		}
		return v
	},
	"metadata.labels['app.kubernetes.io/name']": func(p *corev1.Pod) []string {
		return []string{p.Labels["app.kubernetes.io/name"]}
	},
	"metadata.labels.pod-template-hash": func(p *corev1.Pod) []string {
		return []string{p.Labels["pod-template-hash"]}
	},
	"status.containerStatuses.ready": func(p *corev1.Pod) (v []string) {
		for _, c := range p.Status.ContainerStatuses {
			v = append(v, strconv.FormatBool(c.Ready))
		}
		return v
	},
}

// The values at a path are those of the decoded object, in both encodings.
func TestPathValuesAreTheObjects(t *testing.T) {
	found := map[string]int{}
	for pod := range objects.New(objects.Options{Seed: 3}).Pods(200) {
		proto, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		for name, of := range podPaths {
			path, err := ParsePath(name, reflect.TypeFor[corev1.Pod]())
			if err != nil {
				t.Fatal(err)
			}
			untyped, err := ParsePath(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.DeleteFunc(of(pod), func(v string) bool { return v == "" })
			found[name] += len(want)
			for _, from := range []struct {
				path   Path
				format Format
				raw    []byte
			}{{path, Protobuf, proto}, {path, JSON, text}, {untyped, JSON, text}} {
				got, err := from.path.Values(nil, from.format, from.raw)
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("%s of %s in %v: %q, %v, want %q", name, pod.Name, from.format, got, err, want)
				}
			}
		}
	}
	for name := range podPaths {
		if found[name] == 0 {
			t.Errorf("no pod has anything at %s", name)
		}
	}
}

func TestBadPaths(t *testing.T) {
	pod := reflect.TypeFor[corev1.Pod]()
	for _, test := range []struct {
		path string
		of   reflect.Type
		want string
	}{
		{"", pod, "empty"},
		{"spec.", pod, "ends with a dot"},
		{"spec..nodeName", pod, "a name is missing"},
		{"spec.nodename", pod, `no field "nodename"`},
		{"spec.nodeName.x", pod, "has no fields"},
		{"spec", pod, "ends at a"},
		{"metadata.creationTimestamp", pod, "ends at a"},
		{"metadata.labels['app", pod, "has no end"},
		{"metadata.labels['app']x", pod, "a dot is missing"},
		{"['data']", reflect.TypeFor[corev1.Secret](), "ends at a"},
		{"data.password", reflect.TypeFor[corev1.Secret](), "ends at a"},
		{"rules.verbs", reflect.TypeFor[rbacv1.Role](), ""},
	} {
		_, err := ParsePath(test.path, test.of)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%q: %v", test.path, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%q: %v, want something about %q", test.path, err, test.want)
		}
	}
}

// spiral embeds itself.
type spiral struct {
	*spiral
	Name string `json:"name"`
}

// TestPathIntoItself: a struct that embeds itself has the fields that it names.
func TestPathIntoItself(t *testing.T) {
	of := reflect.TypeFor[spiral]()
	if _, err := ParsePath("name", of); err != nil {
		t.Error(err)
	}
	if _, err := ParsePath("nam", of); err == nil || !strings.Contains(err.Error(), "did you mean name?") {
		t.Error(err)
	}
}

// What is no value gives none; what cannot be read is an error.
func TestPathOfWhatIsNotThere(t *testing.T) {
	path, err := ParsePath("a.b", nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		`{}`: nil, `{"a":null}`: nil, `{"a":1}`: nil, `{"a":{"b":null}}`: nil, `{"a":{"b":""}}`: nil,
		`{"a":{"b":{"c":1}}}`: nil, `{"a":{"b":[]}}`: nil, `{"a":[{"b":1},{"b":[2,"x"]},3]}`: {"1", "2", "x"},
		`{"x":{"b":1},"a":{"b":true,"c":2}}`: {"true"},
	} {
		got, err := path.Values(nil, JSON, []byte(text))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{`{`, `{"a":{"b":}}`, `{"a":{"b":"x`, ``} {
		if got, err := path.Values(nil, JSON, []byte(text)); err == nil && len(got) > 0 {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func FuzzPath(f *testing.F) {
	var paths []Path
	for name := range podPaths {
		path, err := ParsePath(name, reflect.TypeFor[corev1.Pod]())
		if err != nil {
			f.Fatal(err)
		}
		paths = append(paths, path)
	}
	for pod := range objects.New(objects.Options{Seed: 3}).Pods(2) {
		raw, err := pod.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		text, err := json.Marshal(pod)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		pod := &corev1.Pod{}
		readable := pod.Unmarshal(raw) == nil
		for _, path := range paths {
			_, err := path.Values(nil, Protobuf, raw)
			if readable && err != nil {
				t.Errorf("%s of what can be decoded: %v", path, err)
			}
			_, _ = path.Values(nil, JSON, raw)
		}
	})
}
