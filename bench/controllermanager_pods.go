package main

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/test/apiserver"
)

// populateCluster puts n pods onto the server with all that keeps controllers from
// deleting them: their nodes, and owners that want as many as there are.
func populateCluster(ctx context.Context, s *apiserver.Server, n int) error {
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		return err
	}
	p := podPopulator{spaces: spaces{client: client}, ctx: ctx, server: s, orphans: *loosePods}
	if *loosePods {
		return p.put(ownedPods(n))
	}
	for node := range objects.New(objects.Options{Seed: 1}).Nodes(100) {
		if err := createNode(ctx, client, node); err != nil {
			return err
		}
	}
	owners, err := createOwners(ctx, s, client, n)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d owners of pods on the server\n", owners)
	return p.put(ownedPods(n))
}

func createNode(ctx context.Context, client kubernetes.Interface, node *corev1.Node) error {
	status := node.Status
	node.ResourceVersion, node.ManagedFields = "", nil
	created, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	created.Status = status
	_, err = client.CoreV1().Nodes().UpdateStatus(ctx, created, metav1.UpdateOptions{FieldManager: "kubelet"})
	return err
}

// ownerLabel is on each pod, with the name of its owner.
const ownerLabel = "bench.kinform/owner"

// ownedPods are n pods that all belong to ReplicaSets, whatever they belonged to, and
// need no volumes that nobody has.
func ownedPods(n int) iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for pod := range objects.New(objects.Options{Seed: 1}).Pods(n) {
			owner := *metav1.GetControllerOf(pod)
			owner.APIVersion, owner.Kind = "apps/v1", "ReplicaSet"
			pod.OwnerReferences = []metav1.OwnerReference{owner}
			pod.Labels = maps.Clone(pod.Labels)
			pod.Labels[ownerLabel] = owner.Name
			if *loosePods {
				pod.Spec.NodeName = ""
			}
			pod.Spec.Volumes = slices.Clone(pod.Spec.Volumes)
			for i := range pod.Spec.Volumes {
				if v := &pod.Spec.Volumes[i]; v.PersistentVolumeClaim != nil {
					v.VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
				}
			}
			if !yield(pod) {
				return
			}
		}
	}
}

// createOwners makes the ReplicaSets of n pods through the server, and then gives them
// the uids that the pods refer to.
func createOwners(ctx context.Context, s *apiserver.Server, client kubernetes.Interface, n int) (int, error) {
	type owner struct {
		namespace, name string
		uid             types.UID
		active          int32
	}
	owners := map[types.UID]*owner{}
	for pod := range ownedPods(n) {
		ref := metav1.GetControllerOf(pod)
		o := owners[ref.UID]
		if o == nil {
			o = &owner{namespace: pod.Namespace, name: ref.Name, uid: ref.UID}
			owners[ref.UID] = o
		}
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			o.active++
		}
	}
	there := spaces{client: client}
	for _, o := range owners {
		if err := there.ensure(ctx, o.namespace); err != nil {
			return 0, err
		}
		if _, err := client.AppsV1().ReplicaSets(o.namespace).Create(ctx, replicaSet(o.name, o.active), metav1.CreateOptions{}); err != nil {
			return 0, fmt.Errorf("create the owner %s/%s: %w", o.namespace, o.name, err)
		}
		key := fmt.Sprintf("/registry/replicasets/%s/%s", o.namespace, o.name)
		raw, err := s.GetRaw(ctx, key)
		if err != nil {
			return 0, err
		}
		rs := &appsv1.ReplicaSet{}
		if err := decodeInto(raw, rs); err != nil {
			return 0, err
		}
		rs.UID = o.uid
		if raw, err = encodeObject("apps/v1", "ReplicaSet", rs); err != nil {
			return 0, err
		}
		if err := s.PutRaw(ctx, key, raw); err != nil {
			return 0, err
		}
	}
	return len(owners), nil
}

func replicaSet(name string, replicas int32) *appsv1.ReplicaSet {
	labels := map[string]string{ownerLabel: name}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/app:1"}}},
			},
		},
	}
}

// updatePods makes a twentieth of the pods unready and then ready again, at a pace that
// leaves the server time for others.
func updatePods(ctx context.Context, t task) error {
	client, err := kubernetes.NewForConfig(t.Server.config())
	if err != nil {
		return err
	}
	chosen, err := choosePods(ctx, client, 20)
	if err != nil {
		return err
	}
	pace := time.NewTicker(time.Second / 250)
	defer pace.Stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, ready := range []string{"False", "True"} {
		var writers sync.WaitGroup
		work := make(chan types.NamespacedName)
		for range 8 {
			writers.Go(func() {
				for pod := range work {
					if err := setReady(ctx, client, pod, ready); err != nil {
						cancel(err)
					}
				}
			})
		}
		for _, pod := range chosen {
			<-pace.C
			work <- pod
		}
		close(work)
		writers.Wait()
	}
	return context.Cause(ctx)
}

// choosePods returns every n-th of the pods that run.
func choosePods(ctx context.Context, client kubernetes.Interface, n int) ([]types.NamespacedName, error) {
	var chosen []types.NamespacedName
	o := metav1.ListOptions{Limit: 1000, FieldSelector: "status.phase=Running"}
	for i := 0; ; {
		page, err := client.CoreV1().Pods("").List(ctx, o)
		if err != nil {
			return nil, err
		}
		for _, pod := range page.Items {
			if i++; i%n == 0 {
				chosen = append(chosen, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
			}
		}
		if o.Continue = page.Continue; o.Continue == "" {
			return chosen, nil
		}
	}
}

func setReady(ctx context.Context, client kubernetes.Interface, pod types.NamespacedName, ready string) error {
	now := metav1.Now().UTC().Format(time.RFC3339)
	patch := fmt.Sprintf(`{"status": {"conditions": [{"type": "Ready", "status": %q, "lastTransitionTime": %q}, {"type": "ContainersReady", "status": %q, "lastTransitionTime": %q}]}}`, ready, now, ready, now)
	_, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubelet"}, "status")
	return err
}

func wholeSeconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }
