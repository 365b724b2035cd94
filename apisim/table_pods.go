package apisim

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func podPrinter() columnsAndCells {
	p := printerFor("Name/Ready/Status/Restarts/Age/+IP/+Node/+Nominated Node/+Readiness Gates", podCells)
	p.conditions = func(obj runtime.Object) []metav1.TableRowCondition {
		switch phase := obj.(*corev1.Pod).Status.Phase; phase {
		case corev1.PodSucceeded, corev1.PodFailed:
			return []metav1.TableRowCondition{{
				Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(phase), Message: "The pod has ended: " + string(phase),
			}}
		}
		return nil
	}
	return p
}

func podCells(p *corev1.Pod) []any {
	s := summarize(p)
	ip := ""
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	return []any{
		p.Name, fmt.Sprintf("%d/%d", s.ready, s.containers), s.reason, s.restartText(), age(p),
		orElse(ip, none), orElse(p.Spec.NodeName, none), orElse(p.Status.NominatedNodeName, none), readinessGates(p),
	}
}

func readinessGates(p *corev1.Pod) string {
	if len(p.Spec.ReadinessGates) == 0 {
		return none
	}
	open := 0
	for _, gate := range p.Spec.ReadinessGates {
		if podConditionTrue(p, gate.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(p.Spec.ReadinessGates))
}

func podConditionTrue(p *corev1.Pod, kind corev1.PodConditionType) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// podSummary is a pod in one line.
type podSummary struct {
	ready, containers int
	reason            string
	restarts          int
	lastRestart       time.Time
}

func (s *podSummary) restartText() string {
	if s.restarts == 0 || s.lastRestart.IsZero() {
		return strconv.Itoa(s.restarts)
	}
	return fmt.Sprintf("%d (%s ago)", s.restarts, since(s.lastRestart))
}

// count adds the restarts of a container.
func (s *podSummary) count(c *corev1.ContainerStatus) {
	s.restarts += int(c.RestartCount)
	if last := c.LastTerminationState.Terminated; last != nil && last.FinishedAt.After(s.lastRestart) {
		s.lastRestart = last.FinishedAt.Time
	}
}

// summarize finds the one word that says best how a pod is: the phase, or
// what holds up its init containers, or what its first container in trouble
// suffers from.
func summarize(p *corev1.Pod) podSummary {
	s := podSummary{containers: len(p.Spec.Containers), reason: orElse(p.Status.Reason, string(p.Status.Phase))}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			s.reason = c.Reason
		}
	}
	sidecars := map[string]bool{} // init containers that go on running
	for i := range p.Spec.InitContainers {
		if policy := p.Spec.InitContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			sidecars[p.Spec.InitContainers[i].Name] = true
			s.containers++
		}
	}
	initializing := s.initContainers(p, sidecars)
	if !initializing || podConditionTrue(p, corev1.PodInitialized) {
		s.mainContainers(p, sidecars)
	}
	switch {
	case p.DeletionTimestamp == nil:
	case p.Status.Reason == "NodeLost":
		s.reason = "Unknown"
	case p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded:
		s.reason = "Terminating"
	}
	return s
}

// initContainers goes up to the first init container that is not done. It
// returns true if there is one.
func (s *podSummary) initContainers(p *corev1.Pod, sidecars map[string]bool) bool {
	for i := range p.Status.InitContainerStatuses {
		c := &p.Status.InitContainerStatuses[i]
		s.count(c)
		ended, waiting := c.State.Terminated, c.State.Waiting
		switch {
		case ended != nil && ended.ExitCode == 0:
			continue
		case sidecars[c.Name] && c.Started != nil && *c.Started:
			if c.Ready {
				s.ready++
			}
			continue
		case ended != nil:
			s.reason = "Init:" + endReason(ended)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.reason = "Init:" + waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(p.Spec.InitContainers))
		}
		return true
	}
	return false
}

func endReason(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	default:
		return fmt.Sprintf("ExitCode:%d", t.ExitCode)
	}
}

// mainContainers counts the containers that are ready. Of those that wait or
// have ended, the first has the last word.
func (s *podSummary) mainContainers(p *corev1.Pod, sidecars map[string]bool) {
	s.restarts, s.lastRestart = 0, time.Time{}
	for i := range p.Status.InitContainerStatuses {
		if c := &p.Status.InitContainerStatuses[i]; sidecars[c.Name] {
			s.count(c)
		}
	}
	running, failure := false, ""
	for i := len(p.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &p.Status.ContainerStatuses[i]
		s.count(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.reason = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.reason = endReason(c.State.Terminated)
			if c.State.Terminated.ExitCode != 0 {
				failure = s.reason
			}
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.reason != "Completed" {
		return
	}
	switch {
	case running && podConditionTrue(p, corev1.PodReady):
		s.reason = "Running"
	case failure != "":
		s.reason = failure
	case running:
		s.reason = "NotReady"
	}
}
