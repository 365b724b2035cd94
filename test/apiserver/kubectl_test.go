package apiserver

import (
	"bufio"
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/test/apiserver/servers"
)

func TestKubectl(t *testing.T) {
	s := Shared(t)
	ctx := limited(t)
	temporary := ownTemporaryFolder(t)

	out, _, err := Kubectl(ctx, s.Config(), "version")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Client Version: " + servers.Kubernetes, "Server Version: " + servers.Kubernetes} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	out, _, err = Kubectl(ctx, s.Config(), "get", "namespaces", "-o", "name")
	if err != nil || !strings.Contains(out, "namespace/default\n") {
		t.Errorf("get namespaces: %q, %v", out, err)
	}
	_, complaint, err := Kubectl(ctx, s.PowerlessConfig(), "get", "pods")
	if err == nil || !strings.Contains(complaint, "Forbidden") || !strings.Contains(err.Error(), "Forbidden") {
		t.Errorf("the powerless user gets pods: %v, stderr %q; want Forbidden in both", err, complaint)
	}
	wantEmpty(t, temporary)
}

func TestKubectlCommandReadsAndStreams(t *testing.T) {
	s := Shared(t)
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()

	watching, err := KubectlCommand(ctx, t.TempDir(), s.Config(), "get", "configmaps", "--field-selector=metadata.name=applied", "--watch", "-o", "name")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := watching.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watching.Start(); err != nil {
		t.Fatal(err)
	}

	apply, err := KubectlCommand(ctx, t.TempDir(), s.Config(), "apply", "-f", "-")
	if err != nil {
		t.Fatal(err)
	}
	apply.Stdin = strings.NewReader(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"}}`)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := connect(t, s.Config()).CoreV1().ConfigMaps("default").Get(ctx, "applied", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}

	line, err := bufio.NewReader(lines).ReadString('\n')
	if err != nil || line != "configmap/applied\n" {
		t.Errorf("the watch printed %q, %v", line, err)
	}
	cancel()
	if err := watching.Wait(); err == nil {
		t.Error("the watch ended well, want the end of an interrupted program")
	}
}
