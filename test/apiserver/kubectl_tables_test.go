package apiserver_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/test/apiserver"
)

// TestKubectlShowsTheSameTables puts the same varied objects on both servers; the
// real one is its own, since other tests count nodes and pods.
func TestKubectlShowsTheSameTables(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real kube-apiserver: left out by -short")
	}
	real, err := apiserver.Start(apiserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := real.Close(); err != nil {
			t.Error(err)
		}
	}()
	sim, ctx := startApisim(t), inTime(t)
	for _, config := range []*rest.Config{real.Config(), sim.Config()} {
		furnish(ctx, t, config)
	}
	tellers := []*teller{newTeller(t, real.Config()), newTeller(t, sim.Config())}
	for _, kind := range []string{
		"pods", "nodes", "deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "events", "endpointslices",
		"configmaps", "secrets", "services", "persistentvolumeclaims", "leases", "serviceaccounts",
	} {
		said := tell(ctx, tellers, "get "+kind+" -A -l furnished=yes -o wide", "")
		if diff := cmp.Diff(said[0], said[1]); diff != "" {
			t.Errorf("kubectl get %s -o wide (-real +apisim):\n%s", kind, diff)
		}
		if rows := strings.Count(said[1], "\n"); rows < 4 {
			t.Errorf("kubectl get %s printed only %s", kind, said[1])
		}
	}
}

// furnisher creates objects on one server.
type furnisher struct {
	ctx    context.Context
	t      *testing.T
	client dynamic.Interface
}

// furnish fills a server with objects of the kinds that have columns of their own.
func furnish(ctx context.Context, t *testing.T, config *rest.Config) {
	t.Helper()
	config.WarningHandler = rest.NoWarnings{}
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(connection.Transport) })
	client, err := dynamic.NewForConfigAndClient(config, connection)
	if err != nil {
		t.Fatal(err)
	}
	f := furnisher{ctx, t, client}
	g := objects.New(objects.Options{Seed: 11, Workloads: 40, Namespaces: 2, Nodes: 6, NoManagedFields: true})
	each(f, "v1 namespaces", g.Namespaces())
	each(f, "v1 pods", g.Pods(150))
	each(f, "v1 nodes", g.Nodes(6))
	each(f, "apps/v1 deployments", g.Deployments(8))
	each(f, "apps/v1 replicasets", g.ReplicaSets(8))
	each(f, "apps/v1 statefulsets", g.StatefulSets(4))
	each(f, "apps/v1 daemonsets", g.DaemonSets(3))
	each(f, "v1 events", g.Events(20))
	each(f, "discovery.k8s.io/v1 endpointslices", g.EndpointSlices(8))
	each(f, "v1 configmaps", g.ConfigMaps(5))
	each(f, "v1 secrets", g.Secrets(5))
	for _, text := range strings.Split(byHand, "---\n") {
		resource, text, _ := strings.Cut(text, "\n")
		var content map[string]any
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		f.put(resource, content)
	}
}

// each creates objects of a resource, named by version and plural.
func each[T runtime.Object](f furnisher, resource string, all iter.Seq[T]) {
	f.t.Helper()
	for obj := range all {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			f.t.Fatal(err)
		}
		f.put(resource, content)
	}
}

// put creates one object, and then writes its status.
func (f furnisher) put(resource string, content map[string]any) {
	f.t.Helper()
	version, plural, _ := strings.Cut(resource, " ")
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		f.t.Fatal(err)
	}
	obj := &unstructured.Unstructured{Object: content}
	obj.SetAPIVersion(version)
	if obj.GetKind() == "" {
		obj.SetKind(kinds[plural])
	}
	obj.SetResourceVersion("")
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["furnished"] = "yes"
	obj.SetLabels(labels)
	client := f.client.Resource(gv.WithResource(plural)).Namespace(obj.GetNamespace())
	made, err := client.Create(f.ctx, obj, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) && plural == "namespaces" {
		return
	}
	if err != nil {
		f.t.Fatalf("create %s %s: %v", plural, obj.GetName(), err)
	}
	if status, ok := content["status"]; ok && plural != "namespaces" {
		made.Object["status"] = status
		if _, err := client.UpdateStatus(f.ctx, made, metav1.UpdateOptions{}); err != nil {
			f.t.Fatalf("write the status of %s %s: %v", plural, obj.GetName(), err)
		}
	}
}

var kinds = map[string]string{
	"namespaces": "Namespace", "pods": "Pod", "nodes": "Node", "deployments": "Deployment", "replicasets": "ReplicaSet",
	"statefulsets": "StatefulSet", "daemonsets": "DaemonSet", "events": "Event", "endpointslices": "EndpointSlice",
	"configmaps": "ConfigMap", "secrets": "Secret",
}

// byHand are objects in states that the generator does not make, each with its
// resource in the first line.
var byHand = strings.Join([]string{
	pod("sidecar", `{initContainers: [{name: side, image: s, restartPolicy: Always}], containers: [{name: a, image: a}]}`,
		`{phase: Running, initContainerStatuses: [{name: side, image: s, imageID: "", ready: true, started: true, restartCount: 1, state: {running: {}}}],
		 containerStatuses: [{name: a, image: a, imageID: "", ready: true, restartCount: 2, state: {running: {}}}]}`),
	pod("initializing", `{initContainers: [{name: i, image: s}, {name: j, image: s}], containers: [{name: a, image: a}]}`,
		`{phase: Pending, initContainerStatuses: [{name: i, image: s, imageID: "", ready: true, restartCount: 0, state: {terminated: {exitCode: 0}}},
		 {name: j, image: s, imageID: "", ready: false, restartCount: 0, state: {running: {}}}]}`),
	pod("init-fails", `{initContainers: [{name: i, image: s}], containers: [{name: a, image: a}]}`,
		`{phase: Pending, initContainerStatuses: [{name: i, image: s, imageID: "", ready: false, restartCount: 4, state: {terminated: {exitCode: 3}}}]}`),
	pod("init-waits", `{initContainers: [{name: i, image: s}], containers: [{name: a, image: a}]}`,
		`{phase: Pending, initContainerStatuses: [{name: i, image: s, imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff}}}]}`),
	pod("killed", `{containers: [{name: a, image: a}]}`,
		`{phase: Failed, containerStatuses: [{name: a, image: a, imageID: "", ready: false, restartCount: 0, state: {terminated: {exitCode: 137, signal: 9}}}]}`),
	pod("half-done", `{containers: [{name: a, image: a}, {name: b, image: b}]}`,
		`{phase: Running, containerStatuses: [{name: a, image: a, imageID: "", ready: false, restartCount: 0, state: {terminated: {exitCode: 0, reason: Completed}}},
		 {name: b, image: b, imageID: "", ready: true, restartCount: 0, state: {running: {}}}]}`),
	pod("evicted", `{containers: [{name: a, image: a}]}`, `{phase: Failed, reason: Evicted}`),
	pod("gated", `{schedulingGates: [{name: example.com/wait}], readinessGates: [{conditionType: example.com/ok}], containers: [{name: a, image: a}]}`,
		`{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated}, {type: example.com/ok, status: "True"}]}`),
	node("drained", `{unschedulable: true}`, `{node-role.kubernetes.io/control-plane: "", kubernetes.io/role: edge}`, `{conditions: [{type: Ready, status: Unknown}]}`),
	node("silent", `{}`, `{}`, `{addresses: [{type: ExternalIP, address: 1.2.3.4}]}`),
	job("complete", `{completions: 3}`, `{succeeded: 3, startTime: "2026-01-01T00:00:00Z", completionTime: "2026-01-01T01:00:00Z", conditions: [{type: SuccessCriteriaMet, status: "True"}, {type: Complete, status: "True"}]}`),
	job("parallel", `{parallelism: 4, completions: null}`, `{succeeded: 1, startTime: "2026-01-01T00:00:00Z"}`),
	job("suspended", `{suspend: true, completions: 2}`, `{conditions: [{type: Suspended, status: "True"}]}`),
	service("headless", `{clusterIP: None, clusterIPs: [None], selector: {a: b, c: d}}`, `{}`),
	service("outside", `{type: ExternalName, externalName: example.com}`, `{}`),
	service("balanced", `{type: LoadBalancer, clusterIP: 10.0.77.7, clusterIPs: [10.0.77.7], ports: [{name: a, port: 80, nodePort: 30123}, {name: b, port: 53, protocol: UDP, nodePort: 30124}]}`,
		`{loadBalancer: {ingress: [{hostname: lb.example.com}, {ip: 1.2.3.4}]}}`),
	service("pending", `{type: LoadBalancer, clusterIP: 10.0.77.8, clusterIPs: [10.0.77.8], ports: [{port: 80, nodePort: 30125}]}`, `{}`),
	claim("bound", `{volumeMode: Filesystem, volumeName: v1, storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`,
		`{phase: Bound, capacity: {storage: 2Gi}, accessModes: [ReadWriteMany, ReadWriteOnce]}`),
	claim("waiting", `{volumeMode: Block, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`, `{phase: Pending}`),
	byName("coordination.k8s.io/v1 leases", "Lease", "held", `spec: {holderIdentity: somebody}`),
	byName("coordination.k8s.io/v1 leases", "Lease", "free", `spec: {leaseDurationSeconds: 1}`),
	byName("v1 serviceaccounts", "ServiceAccount", "robot", ""),
	byName("v1 serviceaccounts", "ServiceAccount", "other", ""),
}, "\n---\n")

func byName(resource, kind, name, rest string) string {
	return fmt.Sprintf("%s\nkind: %s\nmetadata: {name: %s, namespace: default}\n%s", resource, kind, name, rest)
}

func with(spec, status string) string {
	return "spec: " + spec + "\nstatus: " + strings.ReplaceAll(status, "\t", " ")
}

func pod(name, spec, status string) string { return byName("v1 pods", "Pod", name, with(spec, status)) }

func service(name, spec, status string) string {
	return byName("v1 services", "Service", name, with(spec, status))
}

func claim(name, spec, status string) string {
	return byName("v1 persistentvolumeclaims", "PersistentVolumeClaim", name, with(spec, status))
}

func job(name, spec, status string) string {
	spec = fmt.Sprintf("%[2]s, manualSelector: true, selector: {matchLabels: {job: %[1]s}}, "+
		"template: {metadata: {labels: {job: %[1]s}}, spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}", name, strings.TrimSuffix(spec, "}"))
	return byName("batch/v1 jobs", "Job", name, with(spec, status))
}

func node(name, spec, labels, status string) string {
	return fmt.Sprintf("v1 nodes\nkind: Node\nmetadata: {name: %s, labels: %s}\n%s", name, labels, with(spec, status))
}
