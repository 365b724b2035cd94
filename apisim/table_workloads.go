package apisim

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
)

// wanted is a number of replicas, which is one if nobody says.
func wanted(replicas *int32) int64 {
	if replicas == nil {
		return 1
	}
	return int64(*replicas)
}

// namesAndImages lists the containers of a template.
func namesAndImages(t *corev1.PodTemplateSpec) (names, images string) {
	var n, i []string
	for _, c := range t.Spec.Containers {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}

func deploymentCells(d *appsv1.Deployment) []any {
	names, images := namesAndImages(&d.Spec.Template)
	selector := "<invalid>"
	if s, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
		selector = s.String()
	}
	return []any{
		d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, wanted(d.Spec.Replicas)), d.Status.UpdatedReplicas, d.Status.AvailableReplicas,
		age(d), names, images, selector,
	}
}

func replicaSetCells(s *appsv1.ReplicaSet) []any {
	names, images := namesAndImages(&s.Spec.Template)
	return []any{
		s.Name, wanted(s.Spec.Replicas), s.Status.Replicas, s.Status.ReadyReplicas, age(s),
		names, images, metav1.FormatLabelSelector(s.Spec.Selector),
	}
}

func controllerCells(c *corev1.ReplicationController) []any {
	names, images := "", ""
	if c.Spec.Template != nil {
		names, images = namesAndImages(c.Spec.Template)
	}
	return []any{
		c.Name, wanted(c.Spec.Replicas), c.Status.Replicas, c.Status.ReadyReplicas, age(c),
		names, images, labels.FormatLabels(c.Spec.Selector),
	}
}

func statefulSetCells(s *appsv1.StatefulSet) []any {
	names, images := namesAndImages(&s.Spec.Template)
	return []any{s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, wanted(s.Spec.Replicas)), age(s), names, images}
}

func daemonSetCells(d *appsv1.DaemonSet) []any {
	names, images := namesAndImages(&d.Spec.Template)
	s := &d.Status
	return []any{
		d.Name, s.DesiredNumberScheduled, s.CurrentNumberScheduled, s.NumberReady, s.UpdatedNumberScheduled, s.NumberAvailable,
		labels.FormatLabels(d.Spec.Template.Spec.NodeSelector), age(d), names, images, metav1.FormatLabelSelector(d.Spec.Selector),
	}
}

func jobCells(j *batchv1.Job) []any {
	names, images := namesAndImages(&j.Spec.Template)
	return []any{
		j.Name, jobStatus(j), jobCompletions(j), jobDuration(j), age(j), names, images, metav1.FormatLabelSelector(j.Spec.Selector),
	}
}

// jobStatus is the weightiest of the job's conditions.
func jobStatus(j *batchv1.Job) string {
	is := func(kind batchv1.JobConditionType) bool {
		for _, c := range j.Status.Conditions {
			if c.Type == kind {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	}
	switch {
	case is(batchv1.JobComplete):
		return "Complete"
	case is(batchv1.JobFailed):
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if is(kind) {
			return string(kind)
		}
	}
	return "Running"
}

func jobCompletions(j *batchv1.Job) string {
	switch {
	case j.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	case j.Spec.Parallelism != nil && *j.Spec.Parallelism > 1:
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, *j.Spec.Parallelism)
	default:
		return fmt.Sprintf("%d/1", j.Status.Succeeded)
	}
}

func jobDuration(j *batchv1.Job) string {
	switch {
	case j.Status.StartTime == nil:
		return ""
	case j.Status.CompletionTime == nil:
		return duration.HumanDuration(time.Since(j.Status.StartTime.Time))
	default:
		return duration.HumanDuration(j.Status.CompletionTime.Sub(j.Status.StartTime.Time))
	}
}

func cronJobCells(c *batchv1.CronJob) []any {
	names, images := namesAndImages(&c.Spec.JobTemplate.Spec.Template)
	zone, last, suspended := none, none, "False"
	if c.Spec.TimeZone != nil {
		zone = *c.Spec.TimeZone
	}
	if c.Status.LastScheduleTime != nil {
		last = since(c.Status.LastScheduleTime.Time)
	}
	if c.Spec.Suspend != nil && *c.Spec.Suspend {
		suspended = "True"
	}
	return []any{
		c.Name, c.Spec.Schedule, zone, suspended, int64(len(c.Status.Active)), last, age(c),
		names, images, metav1.FormatLabelSelector(c.Spec.JobTemplate.Spec.Selector),
	}
}
