package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform/apisim"
)

// shop has pods on two nodes, and a service.
func shop(t *testing.T) *testServer {
	t.Helper()
	s := newServer(t)
	for i, node := range []string{"node-1", "node-2", "node-1", ""} {
		pod := &corev1.Pod{ObjectMeta: named(fmt.Sprintf("web-%d", i)), Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "web", Image: fmt.Sprintf("nginx:1.%d", 9+i)}},
		}}
		pod.Labels = map[string]string{"app": "web", "weight": fmt.Sprint(9 + i)}
		must(s.client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}))(t)
	}
	must(s.client.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: named("web"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{}))(t)
	return s
}

func TestGetNames(t *testing.T) {
	s := shop(t)
	for _, tt := range []struct{ args, want string }{
		{"pods", "pods/web-0 pods/web-1 pods/web-2 pods/web-3"},
		{"pods,services", "pods/web-0 pods/web-1 pods/web-2 pods/web-3 services/web"},
		{"svc po -l app=web", "pods/web-0 pods/web-1 pods/web-2 pods/web-3"},
		{"pods --where spec.nodeName=node-1", "pods/web-0 pods/web-2"},
		{"pods --where spec.nodeName!=node-1", "pods/web-1 pods/web-3"},
		{"pods --where spec.nodeName", "pods/web-0 pods/web-1 pods/web-2"},
		{"pods --where !spec.nodeName", "pods/web-3"},
		{"pods --where metadata.labels.weight>9", "pods/web-1 pods/web-2 pods/web-3"},
		{"pods --where metadata.labels.weight<=10 --where spec.nodeName", "pods/web-0 pods/web-1"},
		{"pods --where spec.containers.image==nginx:1.10", "pods/web-1"},
		{`pods --where spec.containers[?(@.name=="web")].image=nginx:1.11`, "pods/web-2"},
		{"pods --by spec.nodeName=node-1", "pods/web-0 pods/web-2"},
		{"pods,svc --by spec.nodeName=node-2", "pods/web-1"},
		{"pods --sort-by spec.nodeName", "pods/web-0 pods/web-2 pods/web-1 pods/web-3"},
		{"pods --sort-by spec.nodeName --desc", "pods/web-1 pods/web-0 pods/web-2 pods/web-3"},
		{"pods,svc --sort-by metadata.labels.weight --desc", "pods/web-3 pods/web-2 pods/web-1 pods/web-0 services/web"},
		{"pod/web-1", "pods/web-1"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			code, out, notes := run(t, append([]string{"get", "--kubeconfig", s.kubeconfig, "-o", "name"}, strings.Fields(tt.args)...)...)
			if got := strings.Join(strings.Fields(out), " "); code != 0 || got != tt.want || notes != "" {
				t.Errorf("exit code %d, said %q, got %s, want %s", code, notes, got, tt.want)
			}
		})
	}
}

func TestGetPages(t *testing.T) {
	s := shop(t)
	for _, order := range []string{"", "--sort-by=spec.nodeName", "--sort-by=metadata.labels.weight"} {
		args := []string{"get", "--kubeconfig", s.kubeconfig, "pods,services", "-o", "json", "--limit", "2"}
		if order != "" {
			args = append(args, order)
		}
		var names []string
		after := []string{}
		for page := 0; page < 3; page++ {
			_, out, notes := run(t, append(args, after...)...)
			var list struct {
				Metadata struct {
					Continue  string
					Remaining int `json:"remainingItemCount"`
				}
				Items []metav1.PartialObjectMetadata
			}
			if err := json.Unmarshal([]byte(out), &list); err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			for _, item := range list.Items {
				names = append(names, item.Kind+" "+item.Name)
			}
			after = []string{"--continue", list.Metadata.Continue}
			if more := page < 2; more != strings.Contains(notes, "--continue "+list.Metadata.Continue) || list.Metadata.Remaining != max(0, 3-2*page) {
				t.Errorf("%s, page %d: said %q, %d remain", order, page, notes, list.Metadata.Remaining)
			}
		}
		if got := strings.Join(names, ", "); strings.Count(got, "web-") != 4 || len(names) != 5 || !strings.Contains(got, "Service web") {
			t.Errorf("%s: got %s, want each object once", order, got)
		}
	}
}

var age = regexp.MustCompile(`(?m) [0-9ms]+$`)

func TestGetTables(t *testing.T) {
	s := shop(t)
	for args, want := range map[string]string{
		"pods,svc -A":                  "RESOURCE NAMESPACE NAME STATE AGE\npods default web-0 Pending, on node-1\n",
		"pods --columns spec.nodeName": "NAME NODENAME AGE\nweb-0 node-1\n",
		"pods --by spec.nodeName":      "OBJECTS RESOURCE VALUE\n2 pods node-1\n1 pods node-2\n",
	} {
		code, out, notes := run(t, append([]string{"get", "--kubeconfig", s.kubeconfig}, strings.Fields(args)...)...)
		var lines []string
		for line := range strings.Lines(out) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		got := strings.Join(lines, "\n") + "\n"
		got = age.ReplaceAllString(got, "")
		if code != 0 || notes != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: exit code %d, said %q, got\n%s\nwant\n%s", args, code, notes, got, want)
		}
	}
	code, out, notes := run(t, "get", "pods", "--where", "spec.nodeName=nowhere", "--kubeconfig", s.kubeconfig)
	if code != 0 || out != "" || notes != "nothing found\n" {
		t.Errorf("exit code %d, output %q, said %q", code, out, notes)
	}
}

func TestGetHidesSecrets(t *testing.T) {
	s := newServer(t)
	must(s.client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: named("login"), StringData: map[string]string{"password": "hunter2"},
	}, metav1.CreateOptions{}))(t)
	for _, args := range []string{"-o yaml", "-o json", "-o table", "--columns data.password,type", "--by data.password"} {
		code, out, notes := run(t, append([]string{"get", "secrets", "--kubeconfig", s.kubeconfig}, strings.Fields(args)...)...)
		if code != 0 || out == "" || strings.Contains(out+notes, "hunter2") || strings.Contains(out+notes, "aHVudGVyMg") {
			t.Errorf("%s: exit code %d, said %q, output\n%s", args, code, notes, out)
		}
		var list struct {
			Items []struct{ Metadata metav1.ObjectMeta }
		}
		if args == "-o yaml" && (yaml.Unmarshal([]byte(out), &list) != nil || list.Items[0].Metadata.ResourceVersion == "") {
			t.Errorf("no list with versions:\n%s", out)
		}
	}
}

func TestGetFailures(t *testing.T) {
	s := shop(t)
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"", exitUsage, "which resource? For example: kinform get pods"},
		{"pods -o xml", exitUsage, "-o xml is not known: use table, json, yaml or name"},
		{"pods --where a..b=c", exitUsage, "--where a..b=c: "},
		{"pods --sort-by a..b", exitUsage, "--sort-by a..b: "},
		{"pods --desc", exitUsage, "--desc is for --sort-by"},
		{"pods --limit -1", exitUsage, "--limit -1"},
		{"pods --continue x", exitUsage, `--continue "x" does not come from a page before`},
		{"pods --columns a -o json", exitUsage, "--columns is for -o table"},
		{"pods --by spec.nodeName>a", exitUsage, "--by spec.nodeName>a: it is FIELD=VALUE, for the objects with that value, or FIELD, which counts those of each; --where compares with !=, <,"},
		{"pods --by spec.nodeName!=a", exitUsage, "--by spec.nodeName!=a: it is FIELD=VALUE"},
		{"pods --by !spec.nodeName", exitUsage, "--by !spec.nodeName: it is FIELD=VALUE"},
		{"pods --by spec.nodeName -o name", exitUsage, "-o name is for objects, and --by spec.nodeName counts values: give --by spec.nodeName=VALUE"},
		{"pods --by spec.nodeName --limit 1 --continue eyJvIjowLCJrIjoiYSJ9", exitUsage, "--continue is for objects, and --by"},
		{"pods --by spec.nodeName --sort-by spec.nodeName", exitUsage, "--sort-by is for objects, and --by"},
		{"pods/default/web-0", exitUsage, `"pods/default/web-0" names no object: write pods/web-0 -n default`},
		{"nodes,pods/", exitUsage, `"pods/" names no object: write pods/NAME for one, or pods for all`},
		{"pods --where spec.nodeNmae=x", exitBad, "nodeName"},
		{"frobs", exitBad, `no resource "frobs"`},
	} {
		code, out, notes := run(t, append([]string{"get", "--kubeconfig", s.kubeconfig}, strings.Fields(tt.args)...)...)
		if code != tt.code || out != "" || !strings.Contains(notes, tt.want) {
			t.Errorf("%s: exit code %d, output %q, said %q, want %d and %q", tt.args, code, out, notes, tt.code, tt.want)
		}
	}
	defer s.Inject(apisim.Fault{Match: apisim.Match{Resource: "services"}, Status: http.StatusForbidden})()
	code, out, notes := run(t, "get", "pods,services", "-o", "name", "--kubeconfig", s.kubeconfig)
	if code != exitBad || strings.Count(out, "pods/") != 4 || !strings.Contains(notes, "cannot watch services") {
		t.Errorf("exit code %d, output %q, said %q", code, out, notes)
	}
}

// TestInterruptedBeforeTheAnswer: whoever waits for an answer must not take its lack for
// one.
func TestInterruptedBeforeTheAnswer(t *testing.T) {
	s := newServer(t)
	for _, command := range []string{"get", "dump"} {
		remove := s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods"}, Hang: true})
		p := startWithProgress(t, command, "pods", "--kubeconfig", s.kubeconfig)
		p.notes.AwaitText(t, "syncing pods")
		if code := p.interrupt(t); code != exitInterrupted || p.out.String() != "" {
			t.Errorf("%s: exit code %d, output %q", command, code, p.out)
		}
		p.notes.Await(t, "kinform: interrupted before the answer was there")
		remove()
	}
}
