package objects

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// podState is where a pod is in its life.
type podState int

const (
	statePending podState = iota
	stateRunning
	stateCrashing
	stateSucceeded
	stateFailed
	states
)

// stateOf chooses the state of one pod of the workload.
func (w *workload) stateOf(r random) podState {
	x := r.Float64()
	switch {
	case w.kind == ofJob && x < 0.86:
		return stateSucceeded
	case w.kind == ofJob && x < 0.92:
		return stateFailed
	case x > 0.99:
		return statePending
	case w.kind != ofJob && x < w.pods().crashes:
		return stateCrashing
	default:
		return stateRunning
	}
}

// times are the moments of a pod's life.
type times struct{ created, started, ready, changed time.Time }

func timesOf(r random, now, notBefore time.Time) times {
	created := r.before(now.Add(-time.Minute), min(now.Sub(notBefore)-time.Minute, 30*24*time.Hour))
	started := created.Add(time.Duration(r.between(0, 4)) * time.Second)
	ready := started.Add(time.Duration(r.between(2, 40)) * time.Second)
	return times{created, started, ready, ready.Add(time.Duration(r.Int64N(int64(now.Sub(ready)/time.Second+1))) * time.Second)}
}

// setStatus fills in the status of a pod whose spec is complete.
func (w *workload) setStatus(r random, pod *corev1.Pod, state podState, ip, hostIP string, t times) {
	s := &pod.Status
	s.ObservedGeneration = 1
	s.Conditions = conditions(state, t)
	if state == statePending {
		s.Phase = corev1.PodPending
		return
	}
	started := stamp(t.started)
	s.StartTime = &started
	s.HostIP, s.PodIP = hostIP, ip
	s.HostIPs, s.PodIPs = []corev1.HostIP{{IP: hostIP}}, []corev1.PodIP{{IP: ip}}
	s.Phase = map[podState]corev1.PodPhase{
		stateRunning: corev1.PodRunning, stateCrashing: corev1.PodRunning,
		stateSucceeded: corev1.PodSucceeded, stateFailed: corev1.PodFailed,
	}[state]
	inits := len(pod.Spec.InitContainers)
	if inits > 0 {
		s.InitContainerStatuses = make([]corev1.ContainerStatus, inits)
		for i := range pod.Spec.InitContainers {
			s.InitContainerStatuses[i] = w.containerStatus(r, &pod.Spec.InitContainers[i], w.pods().images[i], stateSucceeded, t)
		}
	}
	s.ContainerStatuses = make([]corev1.ContainerStatus, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		containerState := state
		if state == stateCrashing && i > 0 {
			containerState = stateRunning
		}
		s.ContainerStatuses[i] = w.containerStatus(r, &pod.Spec.Containers[i], w.pods().images[inits+i], containerState, t)
	}
}

func (w *workload) containerStatus(r random, c *corev1.Container, image string, state podState, t times) corev1.ContainerStatus {
	id := "containerd://" + r.hex(64)
	started := state == stateRunning
	s := corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: imageName(c.Image) + "@sha256:" + image, ContainerID: id,
		Ready: state == stateRunning || state == stateSucceeded, Started: &started,
		AllocatedResources: c.Resources.Requests, Resources: &c.Resources,
		VolumeMounts: mountStatuses(c.VolumeMounts),
	}
	switch state {
	case stateRunning:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: stamp(t.ready.Add(-2 * time.Second))}
		if r.chance(0.1) {
			s.RestartCount = int32(r.between(1, 6))
			s.LastTerminationState.Terminated = terminated(r, t, 137, "OOMKilled")
		}
	case stateCrashing:
		s.RestartCount = int32(r.between(3, 400))
		s.State.Waiting = &corev1.ContainerStateWaiting{
			Reason:  "CrashLoopBackOff",
			Message: "back-off 5m0s restarting failed container=" + c.Name,
		}
		s.LastTerminationState.Terminated = terminated(r, t, int32(r.between(1, 3)), "Error")
	case stateFailed:
		s.State.Terminated = terminated(r, t, 1, "Error")
	case stateSucceeded:
		s.State.Terminated = terminated(r, t, 0, "Completed")
	}
	return s
}

func terminated(r random, t times, code int32, reason string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, StartedAt: stamp(t.started), FinishedAt: stamp(t.ready),
		ContainerID: "containerd://" + r.hex(64),
	}
}

func mountStatuses(mounts []corev1.VolumeMount) []corev1.VolumeMountStatus {
	out := make([]corev1.VolumeMountStatus, len(mounts))
	for i, m := range mounts {
		out[i] = corev1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			mode := corev1.RecursiveReadOnlyDisabled
			out[i].RecursiveReadOnly = &mode
		}
	}
	return out
}

// imageName is an image without its tag.
func imageName(image string) string {
	for i := len(image) - 1; i >= 0; i-- {
		if image[i] == ':' {
			return image[:i]
		}
	}
	return image
}

func conditions(state podState, t times) []corev1.PodCondition {
	if state == statePending {
		return []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, ObservedGeneration: 1, LastTransitionTime: stamp(t.created),
			Reason: corev1.PodReasonUnschedulable, Message: "0/100 nodes are available: 96 Insufficient cpu, 4 node(s) had untolerated taint(s).",
		}}
	}
	all := []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: stamp(t.started.Add(time.Second))},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: stamp(t.started)},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: stamp(t.ready)},
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: stamp(t.ready)},
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: stamp(t.created)},
	}
	for i := range all {
		all[i].ObservedGeneration = 1
	}
	reason := map[podState]string{stateCrashing: "ContainersNotReady", stateSucceeded: "PodCompleted", stateFailed: "PodFailed"}[state]
	if reason != "" {
		for i := 2; i < 4; i++ {
			all[i].Status, all[i].Reason, all[i].LastTransitionTime = corev1.ConditionFalse, reason, stamp(t.changed)
		}
	}
	if state == stateCrashing {
		all[2].Message = "containers with unready status: [app]"
		all[3].Message = all[2].Message
	}
	return all
}

// statusFields holds the kubelet's FieldsV1 documents, by state and by whether
// there are init containers: they do not depend on the workload.
type statusFields struct{ forms [states][2][]byte }

var preparedFields = sync.OnceValue(func() *statusFields {
	f := new(statusFields)
	start := stamp(time.Unix(0, 0))
	for state := range states {
		for inits := range 2 {
			s := corev1.PodStatus{
				ObservedGeneration: 1, Conditions: conditions(state, times{}), Phase: corev1.PodRunning, StartTime: &start,
				HostIP: anyAddress, HostIPs: []corev1.HostIP{{IP: anyAddress}},
				PodIP: anyAddress, PodIPs: []corev1.PodIP{{IP: anyAddress}},
				ContainerStatuses: make([]corev1.ContainerStatus, 1), InitContainerStatuses: make([]corev1.ContainerStatus, inits),
			}
			f.forms[state][inits] = fieldsOf(&corev1.Pod{Status: s})
		}
	}
	return f
})

// unschedulable is the document of the scheduler for a pod that it could not place.
var unschedulable = sync.OnceValue(func() []byte {
	return fieldsOf(&corev1.Pod{Status: corev1.PodStatus{Conditions: conditions(statePending, times{})}})
})
