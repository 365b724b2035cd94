package objects

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// container makes container k of a workload's template: number 0 is the
// application, the others run next to it.
func container(r random, w *workload, k int, volumes []corev1.Volume) corev1.Container {
	c := corev1.Container{
		Name:                     w.name,
		Image:                    fmt.Sprintf("%s/%s/%s:%s", pick(r, registries), w.team, w.name, w.version),
		ImagePullPolicy:          corev1.PullIfNotPresent,
		TerminationMessagePath:   corev1.TerminationMessagePathDefault,
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		Resources:                requirements(r),
		VolumeMounts:             mounts(r, volumes),
	}
	if r.chance(0.5) {
		c.SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(bool),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	if k > 0 {
		c.Name = sidecars[(w.index+k)%len(sidecars)]
		c.Image = fmt.Sprintf("%s/sidecars/%s:%s", registries[0], c.Name, versionOf(r))
		c.Args = []string{"--upstream=127.0.0.1:8080", "--service=" + w.name, "--team=" + w.team, fmt.Sprintf("--drain=%ds", r.between(5, 60))}
		c.Env = environment(r, w, r.between(3, 4))
		if r.chance(0.4) {
			c.ReadinessProbe = probe(r, "/ready", intstr.FromInt(15000+k))
		}
		c.Ports = []corev1.ContainerPort{{Name: "http-" + decimal(k), ContainerPort: int32(15000 + k), Protocol: corev1.ProtocolTCP}}
		return c
	}
	c.Env = environment(r, w, r.between(4, 11))
	c.Ports = []corev1.ContainerPort{
		{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP},
		{Name: "metrics", ContainerPort: 9102, Protocol: corev1.ProtocolTCP},
	}
	http := intstr.FromString("http")
	c.ReadinessProbe = probe(r, "/healthz/ready", http)
	if r.chance(0.7) {
		c.LivenessProbe = probe(r, "/healthz/live", http)
	}
	if r.chance(0.15) {
		c.StartupProbe = probe(r, "/healthz/start", http)
	}
	if r.chance(0.5) {
		c.Command = []string{"/bin/" + w.name}
		c.Args = []string{"serve", "--config=/etc/" + w.name + "/config.yaml", "--shutdown-grace=25s"}
	}
	if r.chance(0.2) {
		c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "sleep 10"}}}}
	}
	return c
}

func requirements(r random) corev1.ResourceRequirements {
	request := corev1.ResourceList{
		corev1.ResourceCPU:    quantity(pick(r, []string{"50m", "100m", "250m", "500m", "1", "2"})),
		corev1.ResourceMemory: quantity(pick(r, []string{"64Mi", "128Mi", "256Mi", "512Mi"})),
	}
	limit := corev1.ResourceList{corev1.ResourceMemory: quantity(pick(r, []string{"512Mi", "1Gi", "2Gi", "4Gi"}))}
	if r.chance(0.4) {
		limit[corev1.ResourceCPU] = quantity("4")
	}
	return corev1.ResourceRequirements{Requests: request, Limits: limit}
}

// quantity parses text and remembers it in the result, which is then only read
// when objects that share it are encoded, and may be so by several goroutines.
func quantity(text string) resource.Quantity {
	q := resource.MustParse(text)
	_ = q.String()
	return q
}

func mounts(r random, volumes []corev1.Volume) []corev1.VolumeMount {
	var out []corev1.VolumeMount
	for _, v := range volumes {
		if r.chance(0.6) {
			out = append(out, corev1.VolumeMount{Name: v.Name, MountPath: "/mnt/" + v.Name, ReadOnly: v.EmptyDir == nil})
		}
	}
	return out
}

// environment makes n variables: some that every pod has, then a run of plain
// ones from a random start, so that no name comes twice.
func environment(r random, w *workload, n int) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: "POD_NAME", ValueFrom: fieldRef("metadata.name")},
		{Name: "POD_NAMESPACE", ValueFrom: fieldRef("metadata.namespace")},
		{Name: "SERVICE_NAME", Value: w.name},
	}
	secret := r.IntN(len(secretVariables))
	for k := range min(n/5, len(secretVariables)) {
		name := secretVariables[(secret+k)%len(secretVariables)]
		env = append(env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: w.name + "-secrets"}, Key: name,
		}}})
	}
	if n > 8 {
		name := pick(r, configVariables)
		env = append(env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: w.name + "-config"}, Key: name,
		}}})
	}
	plain := r.IntN(len(plainVariables))
	for k := 0; len(env) < n; k++ {
		v := plainVariables[(plain+k)%len(plainVariables)]
		env = append(env, corev1.EnvVar{Name: v.name, Value: pick(r, v.values)})
	}
	return env
}

func fieldRef(path string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
}
