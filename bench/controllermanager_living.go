package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/kinform/kinform/internal/objects"
)

// The size of the living cluster.
const (
	livingSpaces      = 8
	livingDeployments = 5 // in each namespace
	livingJobs        = 3
	livingStories     = 2
)

// controllersLiving measures the program in a small cluster where much changes.
func controllersLiving(ctx context.Context, t task) (metrics, error) {
	client, err := kubernetes.NewForConfig(t.Server.config())
	if err != nil {
		return nil, err
	}
	count, err := countRequests(t)
	if err != nil {
		return nil, err
	}
	nodes, err := livingNodes(ctx, client)
	if err != nil {
		return nil, err
	}
	stopKubelets, err := startKubelets(ctx, client)
	if err != nil {
		return nil, err
	}
	defer stopKubelets()
	m, err := t.start(ctx)
	if err != nil {
		return nil, err
	}
	out := metrics{}
	err = m.livingStory(ctx, t, living{client: client, nodes: nodes, program: m}, out)
	out["peak"], out["cpu"] = m.peak(), m.cpu()
	return out, errors.Join(err, m.stop(), count.end(out))
}

func (m *managed) livingStory(ctx context.Context, t task, l living, out metrics) error {
	if err := m.waitQuiet(ctx); err != nil {
		return err
	}
	out["rss start"] = m.resident()
	began := time.Now()
	samples, err := m.during(func() error {
		return m.profiled(ctx, t, "story", 40*time.Second, func() error {
			for story := range livingStories {
				l.story = story
				if err := l.tell(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	})
	out["rss mean"], out["time"] = samples.mean(), time.Since(began).Seconds()
	if err != nil {
		return err
	}
	err = m.waitQuiet(ctx)
	out["rss end"] = m.resident()
	return errors.Join(err, m.profile(ctx, t, "live-heap", livingHeap))
}

// livingNodes makes some nodes, unless they are there, and returns their names.
func livingNodes(ctx context.Context, client kubernetes.Interface) ([]string, error) {
	var names []string
	for node := range objects.New(objects.Options{Seed: 1}).Nodes(5) {
		names = append(names, node.Name)
		if err := createNode(ctx, client, node); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, err
		}
	}
	return names, nil
}

// living is one story of workloads, from their making to their end.
type living struct {
	client  kubernetes.Interface
	nodes   []string
	program *managed
	story   int
}

func (l *living) tell(ctx context.Context) error {
	for _, step := range []struct {
		name     string
		do, done func(context.Context, string) error
	}{
		{"make", l.make, l.settled},
		{"scale", l.scale, l.settled},
		{"roll out", l.rollOut, l.settled},
		{"delete some", l.deleteSome, l.settled},
		{"delete all", l.deleteSpace, l.gone},
	} {
		for _, do := range []func(context.Context, string) error{step.do, l.wait(step.done)} {
			for i := range livingSpaces {
				if err := do(ctx, fmt.Sprintf("living-%d-%d", l.story, i)); err != nil {
					return fmt.Errorf("%s: %w", step.name, err)
				}
			}
		}
	}
	return nil
}

// wait tries again until something is so, for three minutes at most.
func (l *living) wait(is func(context.Context, string) error) func(context.Context, string) error {
	return func(ctx context.Context, space string) error {
		for deadline := time.Now().Add(3 * time.Minute); ; {
			err := is(ctx, space)
			if err == nil || time.Now().After(deadline) {
				return err
			}
			if err := l.program.pause(ctx, 250*time.Millisecond); err != nil {
				return err
			}
		}
	}
}

func (l *living) make(ctx context.Context, space string) error {
	if _, err := l.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	for i := range livingDeployments {
		name := fmt.Sprintf("web-%d", i)
		labels := map[string]string{"app": name}
		replicas := int32(4)
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: l.template(i, labels, corev1.RestartPolicyAlways),
		}}
		if _, err := l.client.AppsV1().Deployments(space).Create(ctx, d, metav1.CreateOptions{}); err != nil {
			return err
		}
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.ServiceSpec{
			Selector: labels, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
		}}
		if _, err := l.client.CoreV1().Services(space).Create(ctx, s, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for i := range livingJobs {
		parallel, completions := int32(2), int32(4)
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("job-%d", i)}, Spec: batchv1.JobSpec{
			Parallelism: &parallel, Completions: &completions, Template: l.template(i, map[string]string{endsLabel: "yes"}, corev1.RestartPolicyNever),
		}}
		if _, err := l.client.BatchV1().Jobs(space).Create(ctx, j, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// endsLabel is on pods that end by themselves.
const endsLabel = "bench.kinform/ends"

// template is that of the i-th workload. Its pods name their node, as there is no
// scheduler, and end at once, as there is no kubelet that would end them.
func (l *living) template(i int, labels map[string]string, restart corev1.RestartPolicy) corev1.PodTemplateSpec {
	c := corev1.Container{
		Name: "app", Image: "registry.example.com/app:1",
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
		Env:   []corev1.EnvVar{{Name: "REVISION", Value: "1"}, {Name: "LOG_LEVEL", Value: "info"}},
	}
	noGrace := int64(0)
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
		RestartPolicy: restart, Containers: []corev1.Container{c}, NodeName: l.nodes[i%len(l.nodes)], TerminationGracePeriodSeconds: &noGrace,
	}}
}

// each changes every deployment of a namespace.
func (l *living) each(ctx context.Context, space string, change func(i int, d *appsv1.Deployment)) error {
	for i := range livingDeployments {
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			d, err := l.client.AppsV1().Deployments(space).Get(ctx, fmt.Sprintf("web-%d", i), metav1.GetOptions{})
			if err != nil {
				return err
			}
			change(i, d)
			_, err = l.client.AppsV1().Deployments(space).Update(ctx, d, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scale makes some deployments larger and some smaller.
func (l *living) scale(ctx context.Context, space string) error {
	return l.each(ctx, space, func(i int, d *appsv1.Deployment) {
		replicas := int32(8)
		if i%2 == 1 {
			replicas = 2
		}
		d.Spec.Replicas = &replicas
	})
}

func (l *living) rollOut(ctx context.Context, space string) error {
	return l.each(ctx, space, func(_ int, d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Image = "registry.example.com/app:2"
		d.Spec.Template.Spec.Containers[0].Env[0].Value = "2"
	})
}

func (l *living) deleteSome(ctx context.Context, space string) error {
	background := metav1.DeletePropagationBackground
	o := metav1.DeleteOptions{PropagationPolicy: &background}
	for i := 0; i < livingDeployments; i += 2 {
		name := fmt.Sprintf("web-%d", i)
		if err := errors.Join(l.client.AppsV1().Deployments(space).Delete(ctx, name, o), l.client.CoreV1().Services(space).Delete(ctx, name, o)); err != nil {
			return err
		}
	}
	return l.client.BatchV1().Jobs(space).DeleteCollection(ctx, o, metav1.ListOptions{})
}

func (l *living) deleteSpace(ctx context.Context, space string) error {
	return l.client.CoreV1().Namespaces().Delete(ctx, space, metav1.DeleteOptions{})
}
