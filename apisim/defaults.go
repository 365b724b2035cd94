package apisim

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// setDefaults sets the defaults that clients rely on when they read an object
// back. It is far from all that the real server sets.
func setDefaults(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Pod:
		defaultPod(&o.Spec)
	case *corev1.Namespace:
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		o.Labels[corev1.LabelMetadataName] = o.Name
	case *corev1.Secret:
		defaultTo(&o.Type, corev1.SecretTypeOpaque)
		for key, value := range o.StringData {
			if o.Data == nil {
				o.Data = map[string][]byte{}
			}
			o.Data[key] = []byte(value)
		}
		o.StringData = nil
	case *corev1.Service:
		defaultTo(&o.Spec.Type, corev1.ServiceTypeClusterIP)
		defaultTo(&o.Spec.SessionAffinity, corev1.ServiceAffinityNone)
		for i := range o.Spec.Ports {
			defaultTo(&o.Spec.Ports[i].Protocol, corev1.ProtocolTCP)
			defaultTo(&o.Spec.Ports[i].TargetPort, intstr.FromInt32(o.Spec.Ports[i].Port))
		}
	case *appsv1.Deployment:
		defaultPointer(&o.Spec.Replicas, 1)
		defaultTo(&o.Spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
		defaultPointer(&o.Spec.RevisionHistoryLimit, 10)
		defaultPointer(&o.Spec.ProgressDeadlineSeconds, 600)
		if o.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
			defaultPointer(&o.Spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
			defaultPointer(&o.Spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
			defaultPointer(&o.Spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
		}
		defaultPod(&o.Spec.Template.Spec)
	case *appsv1.StatefulSet:
		defaultPointer(&o.Spec.Replicas, 1)
		defaultTo(&o.Spec.UpdateStrategy.Type, appsv1.RollingUpdateStatefulSetStrategyType)
		defaultTo(&o.Spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
		defaultPod(&o.Spec.Template.Spec)
	case *appsv1.ReplicaSet:
		defaultPointer(&o.Spec.Replicas, 1)
		defaultPod(&o.Spec.Template.Spec)
	case *appsv1.DaemonSet:
		defaultTo(&o.Spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
		defaultPod(&o.Spec.Template.Spec)
	case *corev1.ReplicationController:
		defaultPointer(&o.Spec.Replicas, 1)
	}
}

func defaultPod(spec *corev1.PodSpec) {
	defaultTo(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	defaultTo(&spec.DNSPolicy, corev1.DNSClusterFirst)
	defaultTo(&spec.SchedulerName, corev1.DefaultSchedulerName)
	defaultPointer(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		defaultTo(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
		defaultTo(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
		defaultTo(&c.ImagePullPolicy, pullPolicy(c.Image))
	}
}

// pullPolicy is Always for images whose tag is, or is taken for, latest.
func pullPolicy(image string) corev1.PullPolicy {
	if strings.Contains(image, "@") {
		return corev1.PullIfNotPresent
	}
	name := image[strings.LastIndex(image, "/")+1:]
	if _, tag, ok := strings.Cut(name, ":"); !ok || tag == "latest" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func defaultTo[T comparable](value *T, def T) {
	var zero T
	if *value == zero {
		*value = def
	}
}

func defaultPointer[T any](value **T, def T) {
	if *value == nil {
		*value = &def
	}
}
