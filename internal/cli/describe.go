package cli

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kinform/kinform/internal/humane"
)

// phraseOf says in a phrase what an object is like: what happened for an Event,
// phase and node for a Pod, replicas for what has them.
func phraseOf(obj map[string]any) string {
	if obj["kind"] == "Event" {
		return describeEvent(obj)
	}
	var parts []string
	if phase := text(obj, "status", "phase"); phase != "" {
		parts = append(parts, phase)
	}
	if want, ok, _ := unstructured.NestedInt64(obj, "spec", "replicas"); ok {
		ready, _, _ := unstructured.NestedInt64(obj, "status", "readyReplicas")
		parts = append(parts, fmt.Sprintf("%d/%d ready", ready, want))
	}
	if ready, ok := condition(obj, "Ready"); ok && obj["kind"] == "Node" {
		parts = append(parts, map[bool]string{true: "Ready", false: "NotReady"}[ready == "True"])
	}
	if node := text(obj, "spec", "nodeName"); node != "" {
		parts = append(parts, "on "+node)
	}
	if kind := text(obj, "type"); kind != "" {
		parts = append(parts, kind)
	}
	if n := entries(obj, "data") + entries(obj, "binaryData"); n > 0 {
		parts = append(parts, humane.Count(n, "key"))
	}
	return strings.Join(parts, ", ")
}

// describeEvent describes an Event of either API: what it is about, why, and the
// message. Events are named after what they are about, so that need not be said
// again.
func describeEvent(obj map[string]any) string {
	about, message := "involvedObject", text(obj, "message")
	if _, ok := obj["regarding"]; ok {
		about, message = "regarding", text(obj, "note")
	}
	subject, name := text(obj, about, "kind"), text(obj, about, "name")
	if !strings.HasPrefix(text(obj, "metadata", "name"), name+".") {
		subject += " " + name
	}
	reason := text(obj, "reason")
	if kind := text(obj, "type"); kind != "Normal" {
		reason = strings.TrimSpace(kind + " " + reason)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s: %s", subject, reason, message))
}

// lifetime says how old an object became.
func lifetime(obj map[string]any, end time.Time) string {
	born, err := time.Parse(time.RFC3339, text(obj, "metadata", "creationTimestamp"))
	if err != nil || end.Before(born) {
		return ""
	}
	return duration.HumanDuration(end.Sub(born)) + " old"
}

// condition returns the status of a condition.
func condition(obj map[string]any, name string) (string, bool) {
	all, _, _ := unstructured.NestedSlice(obj, "status", "conditions")
	for _, c := range all {
		if m, ok := c.(map[string]any); ok && m["type"] == name {
			status, ok := m["status"].(string)
			return status, ok
		}
	}
	return "", false
}

func text(obj map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(obj, path...)
	return s
}

func entries(obj map[string]any, field string) int {
	m, _ := obj[field].(map[string]any)
	return len(m)
}
