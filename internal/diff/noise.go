package diff

import "maps"

// lastApplied is where kubectl apply keeps a copy of what it was given.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Clean returns the object without what changes with every write, or repeats
// what other fields say: managed fields, the resource version, and kubectl's copy
// of the object. The object itself stays as it is; the rest is shared with it.
func Clean(obj map[string]any) map[string]any {
	meta, ok := obj["metadata"].(map[string]any)
	if !ok {
		return obj
	}
	meta = maps.Clone(meta)
	delete(meta, "managedFields")
	delete(meta, "resourceVersion")
	delete(meta, "selfLink")
	if notes, ok := meta["annotations"].(map[string]any); ok && notes[lastApplied] != nil {
		notes = maps.Clone(notes)
		delete(notes, lastApplied)
		if meta["annotations"] = notes; len(notes) == 0 {
			delete(meta, "annotations")
		}
	}
	obj = maps.Clone(obj)
	obj["metadata"] = meta
	return obj
}

// minor are the names of fields that change along with others, or repeat them.
var minor = map[string]bool{
	"generation":                 true,
	"observedGeneration":         true,
	"deletionGracePeriodSeconds": true,
	"lastTransitionTime":         true,
	"lastUpdateTime":             true,
	"lastProbeTime":              true,
	"lastHeartbeatTime":          true,
	"lastTimestamp":              true,
	"startTime":                  true,
	"startedAt":                  true,
	"finishedAt":                 true,
	"containerID":                true,
	"hostIPs":                    true,
	"podIPs":                     true,
}

// Minor reports whether a change is worth a word only where nothing else changed,
// such as the time at which a condition changed, or the message that comes with
// its reason.
func (c Change) Minor() bool {
	for i, s := range c.Path {
		if !s.Item && MinorField(s.Name, i) {
			return true
		}
	}
	return false
}

// MinorField reports whether fields of a name are minor ones, so many steps below
// the top.
func MinorField(name string, depth int) bool {
	return minor[name] || name == "message" && depth > 0
}
