package main

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// settled says what the controllers still have to do in a namespace.
func (l *living) settled(ctx context.Context, space string) error {
	deployments, err := l.client.AppsV1().Deployments(space).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	want := 0
	for _, d := range deployments.Items {
		s, n := d.Status, *d.Spec.Replicas
		if s.ObservedGeneration < d.Generation || s.Replicas != n || s.UpdatedReplicas != n || s.AvailableReplicas != n {
			return fmt.Errorf("deployment %s/%s wants %d replicas and has %d, %d of them new, %d available", space, d.Name, n, s.Replicas, s.UpdatedReplicas, s.AvailableReplicas)
		}
		want += int(n)
	}
	jobs, err := l.client.BatchV1().Jobs(space).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, j := range jobs.Items {
		if j.Status.CompletionTime == nil {
			return fmt.Errorf("job %s/%s has %d of %d pods done", space, j.Name, j.Status.Succeeded, *j.Spec.Completions)
		}
	}
	pods, err := l.client.CoreV1().Pods(space).List(ctx, metav1.ListOptions{LabelSelector: "!" + endsLabel})
	if err == nil && len(pods.Items) != want {
		err = fmt.Errorf("namespace %s has %d pods of deployments, not %d", space, len(pods.Items), want)
	}
	if err != nil {
		return err
	}
	return l.served(ctx, space, want)
}

// served says whether the services have found their pods.
func (l *living) served(ctx context.Context, space string, want int) error {
	slices, err := l.client.DiscoveryV1().EndpointSlices(space).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	served := 0
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready != nil && *e.Conditions.Ready {
				served++
			}
		}
	}
	if served != want {
		return fmt.Errorf("the services of namespace %s have %d pods, not %d", space, served, want)
	}
	return nil
}

// gone says whether a namespace is still there.
func (l *living) gone(ctx context.Context, space string) error {
	_, err := l.client.CoreV1().Namespaces().Get(ctx, space, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("namespace %s is still there", space)
	}
	return err
}

// startKubelets reports each pod that comes as running, or as done if it is one that
// ends, until it is stopped.
func startKubelets(ctx context.Context, client kubernetes.Interface) (stop func(), err error) {
	ctx, stop = context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	context.AfterFunc(ctx, queue.ShutDown)
	_, err = pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		queue.Add(cache.MetaObjectToName(obj.(*corev1.Pod)))
	}})
	if err != nil {
		stop()
		return nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced) {
		stop()
		return nil, context.Cause(ctx)
	}
	var addresses atomic.Int64
	for range 4 {
		go func() {
			for {
				key, done := queue.Get()
				if done {
					return
				}
				pod, err := pods.Lister().Pods(key.Namespace).Get(key.Name)
				if err == nil && pod.Status.Phase == corev1.PodPending {
					err = reportPod(ctx, client, pod, addresses.Add(1))
				}
				if err != nil && !apierrors.IsNotFound(err) {
					queue.AddRateLimited(key)
				}
				queue.Done(key)
			}
		}()
	}
	return stop, nil
}

// reportPod writes the status of a pod as its kubelet would.
func reportPod(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, n int64) error {
	now := metav1.Now()
	pod = pod.DeepCopy()
	s, c := &pod.Status, &pod.Spec.Containers[0]
	s.PodIP = fmt.Sprintf("10.%d.%d.%d", 64+n>>16&63, n>>8&255, n&255)
	s.PodIPs, s.StartTime, s.Phase = []corev1.PodIP{{IP: s.PodIP}}, &now, corev1.PodRunning
	status := corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image, Ready: true}
	status.State.Running = &corev1.ContainerStateRunning{StartedAt: now}
	ready := corev1.ConditionTrue
	if pod.Labels[endsLabel] != "" {
		s.Phase, ready, status.Ready = corev1.PodSucceeded, corev1.ConditionFalse, false
		status.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}}
	}
	s.ContainerStatuses = []corev1.ContainerStatus{status}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: kind, Status: ready, LastTransitionTime: now})
	}
	_, err := client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{FieldManager: "kubelet"})
	return err
}
