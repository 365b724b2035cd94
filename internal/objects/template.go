package objects

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func decimal(i int) string { return strconv.Itoa(i) }
func base36(i int) string  { return strconv.FormatInt(int64(i), 36) }

func versionOf(r random) string {
	return fmt.Sprintf("%d.%d.%d", r.between(0, 7), r.between(0, 40), r.between(0, 12))
}

// newTemplate makes the pod template of a workload, with the defaults that the
// API server fills in.
func newTemplate(r random, w *workload) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: templateLabels(r, w), Annotations: templateAnnotations(r, w)},
		Spec:       templateSpec(r, w),
	}
}

func templateLabels(r random, w *workload) map[string]string {
	labels := map[string]string{
		"app.kubernetes.io/name":       w.name,
		"app.kubernetes.io/instance":   w.name,
		"app.kubernetes.io/version":    w.version,
		"app.kubernetes.io/managed-by": pick(r, operators),
		"team.example.com/name":        w.team,
	}
	if r.chance(0.5) {
		labels["app.kubernetes.io/component"] = pick(r, roles)
		labels["app.kubernetes.io/part-of"] = pick(r, systems)
	}
	if r.chance(0.4) {
		labels["topology.example.com/tier"] = pick(r, []string{"edge", "core", "batch", "internal"})
	}
	if r.chance(0.3) {
		labels["security.istio.io/tlsMode"] = "istio"
		labels["service.istio.io/canonical-name"] = w.name
		labels["service.istio.io/canonical-revision"] = w.version
	}
	return labels
}

func templateAnnotations(r random, w *workload) map[string]string {
	annotations := map[string]string{
		"checksum/config": r.hex(64),
		"checksum/secret": r.hex(64),
	}
	if r.chance(0.6) {
		annotations["prometheus.io/scrape"] = "true"
		annotations["prometheus.io/port"] = pick(r, []string{"9102", "9090", "2112"})
		annotations["prometheus.io/path"] = "/metrics"
	}
	if r.chance(0.4) {
		annotations["kubectl.kubernetes.io/restartedAt"] = stamp(r.before(w.g.opts.Now, 90*24*time.Hour)).Format(time.RFC3339)
	}
	if r.chance(0.35) {
		annotations["ci.example.com/commit"] = r.hex(40)
		annotations["ci.example.com/pipeline"] = fmt.Sprintf("https://ci.example.com/%s/%s/pipelines/%d", w.team, w.name, r.between(10_000, 999_999))
		annotations["ci.example.com/changelog"] = "https://git.example.com/" + w.team + "/" + w.name + "/-/releases/v" + w.version
	}
	if r.chance(0.3) {
		annotations["sidecar.istio.io/status"] = fmt.Sprintf(`{"initContainers":["istio-init"],"containers":["istio-proxy"],"volumes":["workload-socket","credential-socket","workload-certs","istio-envoy","istio-data","istio-podinfo","istio-token","istiod-ca-cert"],"imagePullSecrets":null,"revision":"1-%d-%d"}`, r.between(18, 26), r.between(0, 5))
		annotations["proxy.istio.io/config"] = `{"holdApplicationUntilProxyStarts":true,"terminationDrainDuration":"20s"}`
	}
	return annotations
}

func templateSpec(r random, w *workload) corev1.PodSpec {
	grace := int64(pick(r, []int{30, 30, 30, 60, 120}))
	spec := corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyAlways,
		TerminationGracePeriodSeconds: &grace,
		DNSPolicy:                     corev1.DNSClusterFirst,
		ServiceAccountName:            w.name,
		DeprecatedServiceAccount:      w.name,
		SecurityContext:               &corev1.PodSecurityContext{},
		SchedulerName:                 corev1.DefaultSchedulerName,
		Volumes:                       templateVolumes(r, w),
	}
	if w.kind == ofJob {
		spec.RestartPolicy = corev1.RestartPolicyNever
	}
	if r.chance(0.5) {
		user, nonRoot := int64(r.between(1000, 65000)), true
		spec.SecurityContext = &corev1.PodSecurityContext{
			RunAsUser: &user, RunAsGroup: &user, FSGroup: &user, RunAsNonRoot: &nonRoot,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
	}
	if r.chance(0.4) {
		spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry-" + w.team}}
	}
	if r.chance(0.3) {
		spec.NodeSelector = map[string]string{"node.example.com/pool": pick(r, []string{"general", "compute", "memory"}), "kubernetes.io/os": "linux"}
	}
	if w.kind == ofReplicaSet && r.chance(0.5) {
		spec.Affinity = spreadAffinity(w)
		spec.TopologySpreadConstraints = spreadConstraints(w)
	}
	for k := range pick(r, []int{1, 1, 1, 1, 1, 1, 2, 2, 3, 4}) {
		spec.Containers = append(spec.Containers, container(r, w, k, spec.Volumes))
	}
	if r.chance(0.2) {
		first := container(r, w, 0, nil)
		first.Name, first.Ports, first.Lifecycle = "migrate", nil, nil
		first.ReadinessProbe, first.LivenessProbe, first.StartupProbe = nil, nil, nil
		first.Command = []string{"/bin/" + w.name, "migrate", "--wait", "--timeout=5m"}
		spec.InitContainers = []corev1.Container{first}
	}
	return spec
}

func spreadAffinity(w *workload) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				LabelSelector: &metav1.LabelSelector{MatchLabels: w.selector},
				TopologyKey:   "kubernetes.io/hostname",
			},
		}},
	}}
}

func spreadConstraints(w *workload) []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.ScheduleAnyway,
		LabelSelector: &metav1.LabelSelector{MatchLabels: w.selector},
	}}
}

func templateVolumes(r random, w *workload) []corev1.Volume {
	mode := int32(0o644)
	volumes := []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: w.name + "-config"}, DefaultMode: &mode,
	}}}}
	if r.chance(0.6) {
		volumes = append(volumes, corev1.Volume{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: w.name + "-tls", DefaultMode: &mode,
		}}})
	}
	if r.chance(0.7) {
		limit := quantity(pick(r, []string{"256Mi", "1Gi", "10Gi"}))
		volumes = append(volumes, corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}})
	}
	if w.kind == ofDaemonSet {
		kind := corev1.HostPathDirectory
		volumes = append(volumes, corev1.Volume{Name: "host-logs", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/log", Type: &kind}}})
	}
	return volumes
}

// probe asks the container over HTTP.
func probe(r random, path string, port intstr.IntOrString) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: port, Scheme: corev1.URISchemeHTTP,
		}},
		InitialDelaySeconds: int32(r.between(0, 30)), TimeoutSeconds: int32(r.between(1, 5)),
		PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: int32(r.between(3, 6)),
	}
}
