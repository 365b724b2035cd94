package cluster

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status is what the kubelet says of the pod when it enters a stage.
func (p *pod) status(to stage, now time.Time) corev1.PodStatus {
	at := metav1.NewTime(now)
	s := corev1.PodStatus{
		Phase: corev1.PodRunning, ObservedGeneration: p.generation,
		Conditions: p.conditions(to, at), ContainerStatuses: p.containerStatuses(to, at),
		HostIP: hostAddress(p.node), HostIPs: []corev1.HostIP{{IP: hostAddress(p.node)}},
	}
	if to == creating {
		s.Phase, s.StartTime = corev1.PodPending, &at
		return s
	}
	s.PodIP, s.PodIPs = p.address(), []corev1.PodIP{{IP: p.address()}}
	return s
}

// asPatch gives a status as a merge patch that leaves nothing of the stage
// before, but keeps the time of the start.
func asPatch(s corev1.PodStatus) map[string]any {
	out := map[string]any{
		"phase": s.Phase, "observedGeneration": s.ObservedGeneration, "conditions": s.Conditions, "containerStatuses": s.ContainerStatuses,
		"hostIP": s.HostIP, "hostIPs": s.HostIPs,
	}
	if s.StartTime != nil {
		out["startTime"] = s.StartTime
	}
	if s.PodIP != "" {
		out["podIP"], out["podIPs"] = s.PodIP, s.PodIPs
	}
	return map[string]any{"status": out}
}

// address is the pod's, made of its uid.
func (p *pod) address() string {
	var sum [3]byte
	for i := range len(p.uid) {
		sum[i%3] = sum[i%3]*31 + p.uid[i]
	}
	return fmt.Sprintf("10.%d.%d.%d", 64+sum[0]%64, sum[1], 1+sum[2]%254)
}

func hostAddress(node int) string { return fmt.Sprintf("172.16.%d.%d", byte(node>>8), byte(node)) }

func (p *pod) conditions(to stage, at metav1.Time) []corev1.PodCondition {
	state := func(ok bool) corev1.ConditionStatus {
		if ok {
			return corev1.ConditionTrue
		}
		return corev1.ConditionFalse
	}
	all := []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: state(to > creating)},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: state(to == podReady)},
		{Type: corev1.ContainersReady, Status: state(to == podReady)},
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
	}
	for i := range all {
		all[i].LastTransitionTime = at
		if all[i].Status == corev1.ConditionFalse && i >= 2 {
			all[i].Reason = "ContainersNotReady"
			all[i].Message = fmt.Sprintf("containers with unready status: [%s]", p.containers[0].Name)
		}
	}
	return all
}

func (p *pod) containerStatuses(to stage, at metav1.Time) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, len(p.containers))
	for i := range p.containers {
		c, started := &p.containers[i], to >= running
		s := corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image, Started: &started, Ready: to == podReady}
		switch {
		case to == creating:
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		case to == crashed && i == 0:
			s.State.Waiting = &corev1.ContainerStateWaiting{
				Reason: "CrashLoopBackOff", Message: fmt.Sprintf("back-off %ds restarting failed container=%s", 10<<min(p.restarts, 5), c.Name),
			}
		default:
			s.State.Running = &corev1.ContainerStateRunning{StartedAt: at}
		}
		if to != creating {
			s.ContainerID = fmt.Sprintf("containerd://%s%d", p.uid, p.restarts)
		}
		if i == 0 {
			s.RestartCount = int32(p.restarts)
			if to == crashed || p.restarts > 0 {
				s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: at, FinishedAt: at}
			}
		}
		out[i] = s
	}
	return out
}
