package apisim

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// convert returns an object in another version of its kind. Versions are
// taken to have the same fields under the same names, apart from the renamed
// ones that renames knows; what the target does not know is lost.
func convert(obj runtime.Object, from, to schema.GroupVersionKind) (runtime.Object, error) {
	if from == to {
		return obj, nil
	}
	if custom, ok := obj.(*unstructured.Unstructured); ok {
		custom = custom.DeepCopy()
		custom.SetGroupVersionKind(to)
		return custom, nil
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("convert %v to %v: %w", from, to, err)
	}
	var fields map[string]any
	if err := utiljson.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("convert %v to %v: %w", from, to, err)
	}
	rename(fields, from, to)
	if data, err = json.Marshal(fields); err != nil {
		return nil, fmt.Errorf("convert %v to %v: %w", from, to, err)
	}
	out := typedCodec{to}.empty()
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("convert %v to %v: %w", from, to, err)
	}
	return out, nil
}

// eventNames are the fields of a core Event and their names in events.k8s.io.
var eventNames = map[string]string{
	"involvedObject":     "regarding",
	"message":            "note",
	"source":             "deprecatedSource",
	"firstTimestamp":     "deprecatedFirstTimestamp",
	"lastTimestamp":      "deprecatedLastTimestamp",
	"count":              "deprecatedCount",
	"reportingComponent": "reportingController",
}

func rename(fields map[string]any, from, to schema.GroupVersionKind) {
	if from.Group == to.Group || from.Kind != "Event" {
		return
	}
	for core, events := range eventNames {
		old, name := events, core
		if to.Group == "events.k8s.io" {
			old, name = core, events
		}
		if value, ok := fields[old]; ok {
			delete(fields, old)
			fields[name] = value
		}
	}
}
