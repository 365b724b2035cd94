package objects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// listKeys names the lists that the API merges by key, and the keys. Other
// lists are owned as a whole.
var listKeys = map[string][]string{
	"containers":                {"name"},
	"initContainers":            {"name"},
	"volumes":                   {"name"},
	"env":                       {"name"},
	"imagePullSecrets":          {"name"},
	"ports":                     {"containerPort", "protocol"},
	"volumeMounts":              {"mountPath"},
	"conditions":                {"type"},
	"podIPs":                    {"ip"},
	"addresses":                 {"type"},
	"ownerReferences":           {"uid"},
	"topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"},
}

// atomicMaps are owned as a whole too.
var atomicMaps = map[string]bool{
	"nodeSelector": true, "selector": true, "labelSelector": true, "fieldRef": true,
	"secretKeyRef": true, "configMapKeyRef": true, "claimRef": true,
}

// atomicItems are the lists whose items are owned each as a whole.
var atomicItems = map[string]bool{"ownerReferences": true}

// neverOwned are the fields that exist in every object from the start, so that
// a manager owns what is in them but not the fields as such.
var neverOwned = map[string]bool{
	"metadata": true, "spec": true, "status": true, "containers": true, "conditions": true,
	"strategy": true, "updateStrategy": true, "template": true,
}

// fieldsOf returns the FieldsV1 document that names every field set in part,
// which holds only what one manager wrote.
func fieldsOf(part any) []byte {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(part)
	if err != nil {
		panic(fmt.Sprintf("objects: %T cannot be turned into fields: %v", part, err))
	}
	return fieldsOfMap(content)
}

func fieldsOfMap(content map[string]any) []byte {
	var out bytes.Buffer
	delete(content, "kind")
	delete(content, "apiVersion")
	writeMap(&out, content, false)
	return out.Bytes()
}

func writeMap(out *bytes.Buffer, m map[string]any, own bool) {
	out.WriteByte('{')
	comma := ""
	if own && len(m) > 0 {
		out.WriteString(`".":{}`)
		comma = ","
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if unset(name, m[name]) {
			continue
		}
		out.WriteString(comma)
		comma = ","
		writeString(out, "f:"+name)
		out.WriteByte(':')
		writeValue(out, name, m[name])
	}
	out.WriteByte('}')
}

// unset is true for a field that the server does not count as written: lists
// and nulls without content, and the fixed parts of an object with nothing in them.
func unset(name string, value any) bool {
	switch value := value.(type) {
	case nil:
		return name != "lastProbeTime"
	case []any:
		return len(value) == 0
	case map[string]any:
		if !neverOwned[name] {
			return false
		}
		for child, v := range value {
			if !unset(child, v) {
				return false
			}
		}
		return true
	}
	return false
}

func writeValue(out *bytes.Buffer, name string, value any) {
	switch value := value.(type) {
	case map[string]any:
		if !atomicMaps[name] {
			writeMap(out, value, !neverOwned[name])
			return
		}
	case []any:
		if keys := listKeys[name]; keys != nil && keyed(value, keys) {
			writeList(out, name, value, keys)
			return
		}
	}
	out.WriteString("{}")
}

// keyed is false for a list that only shares its name with one that is merged by key.
func keyed(list []any, keys []string) bool {
	first, ok := list[0].(map[string]any)
	return ok && first[keys[0]] != nil
}

func writeList(out *bytes.Buffer, name string, list []any, keys []string) {
	out.WriteByte('{')
	comma := ""
	if !neverOwned[name] {
		out.WriteString(`".":{}`)
		comma = ","
	}
	for _, item := range list {
		item := item.(map[string]any)
		id := make(map[string]any, len(keys))
		for _, key := range keys {
			id[key] = item[key]
		}
		text, err := json.Marshal(id)
		if err != nil {
			panic(fmt.Sprintf("objects: key of a list item: %v", err))
		}
		out.WriteString(comma)
		comma = ","
		writeString(out, "k:"+string(text))
		out.WriteByte(':')
		if atomicItems[name] {
			out.WriteString("{}")
			continue
		}
		writeMap(out, item, true)
	}
	out.WriteByte('}')
}

// writeString writes a JSON string. Names of fields and keys are ASCII, for which
// Go's quotes are JSON's.
func writeString(out *bytes.Buffer, s string) {
	out.Write(strconv.AppendQuoteToASCII(out.AvailableBuffer(), s))
}

// managedBy is one manager's entry in metadata.managedFields.
func managedBy(manager, apiVersion, subresource string, at time.Time, fields []byte) metav1.ManagedFieldsEntry {
	t := stamp(at)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: apiVersion,
		Time: &t, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: fields}, Subresource: subresource,
	}
}
