package apisim

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// selection is what a list or watch asks for: a namespace or all, a name or
// all, and the selectors.
type selection struct {
	codec  codec
	known  map[string]fieldReader
	prefix string // of the key
	labels labels.Selector
	fields fields.Selector
}

// fieldReader reads the value of a selectable field from an encoded object.
type fieldReader func(o *object) string

// everything reports whether no selector narrows the range of keys.
func (s *selection) everything() bool { return s.labels.Empty() && s.fields.Empty() }

// matches reports whether an object belongs to the selection.
func (s *selection) matches(o *object) bool {
	if !strings.HasPrefix(o.key, s.prefix) {
		return false
	}
	if !s.labels.Empty() && !s.labels.Matches(labels.Set(s.codec.labels(o.data()))) {
		return false
	}
	return s.fields.Empty() || s.fields.Matches(objectFields{s, o})
}

// objectFields reads fields of an object as a field selector asks for them.
type objectFields struct {
	selection *selection
	object    *object
}

func (f objectFields) Has(field string) bool { _, ok := f.selection.known[field]; return ok }

func (f objectFields) Get(field string) string {
	if read, ok := f.selection.known[field]; ok {
		return read(f.object)
	}
	return ""
}

// newSelection checks the selectors of a request. An unknown field is a bad
// request.
func newSelection(r *request, o *metainternal.ListOptions) (*selection, error) {
	s := &selection{
		codec:  r.served.store.codec,
		known:  r.served.selectable(),
		labels: labels.Everything(),
		fields: fields.Everything(),
	}
	if o.LabelSelector != nil {
		s.labels = o.LabelSelector
	}
	if o.FieldSelector != nil {
		known, err := o.FieldSelector.Transform(r.served.fieldLabel)
		if err != nil {
			return nil, badRequest("%v", err)
		}
		s.fields = known
	}
	if r.name != "" {
		if err := s.narrowTo(r.name); err != nil {
			return nil, err
		}
	}
	if r.namespace != "" && r.served.namespaced {
		s.prefix = r.namespace + "/"
	}
	return s, nil
}

func (s *selection) narrowTo(name string) error {
	if s.fields.Empty() {
		s.fields = fields.OneTermEqualSelector("metadata.name", name)
		return nil
	}
	if selected, ok := s.fields.RequiresExactMatch("metadata.name"); !ok || selected != name {
		return badRequest("fieldSelector metadata.name doesn't match requested name")
	}
	return nil
}

// fieldLabel accepts or refuses a field of a selector and gives it the name
// that selectable knows.
func (r *resource) fieldLabel(field, value string) (string, string, error) {
	if field == "spec.host" && r.gvk.Kind == "Pod" {
		field = "spec.nodeName"
	}
	if _, ok := r.selectable()[field]; ok {
		return field, value, nil
	}
	if r.custom == nil && r.builtinFields() != nil {
		return "", "", fmt.Errorf("field label not supported: %s", field)
	}
	return "", "", fmt.Errorf("%q is not a known field selector: only %q, %q", field, "metadata.name", "metadata.namespace")
}

var (
	nameField      fieldReader = func(o *object) string { _, name := splitKey(o.key); return name }
	namespaceField fieldReader = func(o *object) string { namespace, _ := splitKey(o.key); return namespace }

	metaFields = map[string]fieldReader{"metadata.name": nameField, "metadata.namespace": namespaceField}
)

// selectable returns the fields that a field selector may name.
func (r *resource) selectable() map[string]fieldReader {
	if r.custom != nil {
		return r.custom.selectable
	}
	if known := r.builtinFields(); known != nil {
		return known
	}
	return metaFields
}

// builtinFields are the selectable fields of the kinds that have more than
// their name and namespace, read from the protobuf of the stored version.
var builtinFields = map[string]map[string]fieldReader{
	"Pod": {
		"metadata.name":            nameField,
		"metadata.namespace":       namespaceField,
		"spec.nodeName":            text(2, 10),
		"spec.restartPolicy":       text(2, 3),
		"spec.schedulerName":       text(2, 19),
		"spec.serviceAccountName":  text(2, 8),
		"spec.hostNetwork":         boolean(2, 11),
		"status.phase":             text(3, 1),
		"status.podIP":             text(3, 6),
		"status.podIPs":            text(3, 6),
		"status.nominatedNodeName": text(3, 11),
	},
	"Node": {
		"metadata.name":      nameField,
		"spec.unschedulable": boolean(2, 4),
	},
	"ReplicationController": {
		"metadata.name":      nameField,
		"metadata.namespace": namespaceField,
		"status.replicas":    number(3, 1),
	},
	"Namespace": {
		"metadata.name": nameField,
		"status.phase":  text(3, 1),
	},
	"Secret": {
		"metadata.name":      nameField,
		"metadata.namespace": namespaceField,
		"type":               text(3),
	},
	"Service": {
		"metadata.name":      nameField,
		"metadata.namespace": namespaceField,
		"spec.clusterIP":     text(2, 3),
		"spec.type":          text(2, 4),
	},
	"Job.batch": {
		"metadata.name":      nameField,
		"metadata.namespace": namespaceField,
		"status.successful":  number(3, 5),
	},
	"CertificateSigningRequest.certificates.k8s.io": {
		"metadata.name":   nameField,
		"spec.signerName": text(2, 7),
	},
	"ClusterTrustBundle.certificates.k8s.io": {
		"metadata.name":   nameField,
		"spec.signerName": text(2, 1),
	},
	"ResourceSlice.resource.k8s.io": {
		"metadata.name": nameField,
		"spec.nodeName": text(2, 3),
		"spec.driver":   text(2, 1),
	},
	"Event":               eventFields("involvedObject", "reportingComponent"),
	"Event.events.k8s.io": eventFields("regarding", "reportingController"),
}

// eventFields are the selectable fields of an event, under the names that the
// core group or events.k8s.io has for them.
func eventFields(object, reporter string) map[string]fieldReader {
	return map[string]fieldReader{
		"metadata.name":             nameField,
		"metadata.namespace":        namespaceField,
		object + ".kind":            text(2, 1),
		object + ".namespace":       text(2, 2),
		object + ".name":            text(2, 3),
		object + ".uid":             text(2, 4),
		object + ".apiVersion":      text(2, 5),
		object + ".resourceVersion": text(2, 6),
		object + ".fieldPath":       text(2, 7),
		"reason":                    text(3),
		reporter:                    text(14),
		"source":                    eventSource,
		"type":                      text(9),
	}
}

func (r *resource) builtinFields() map[string]fieldReader {
	return builtinFields[r.gvk.GroupKind().String()]
}

func text(path ...protowire.Number) fieldReader {
	return func(o *object) string { return string(protoPath(o.data(), path...)) }
}

func boolean(path ...protowire.Number) fieldReader {
	return func(o *object) string { return strconv.FormatBool(protoVarint(protoPath(o.data(), path...)) != 0) }
}

func number(path ...protowire.Number) fieldReader {
	return func(o *object) string { return strconv.FormatInt(int64(protoVarint(protoPath(o.data(), path...))), 10) }
}

// eventSource is the component of an event's source, or who reported it.
func eventSource(o *object) string {
	if component := protoPath(o.data(), 5, 1); len(component) > 0 {
		return string(component)
	}
	return string(protoPath(o.data(), 14))
}
