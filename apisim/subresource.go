package apisim

import (
	"net/http"
	"reflect"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// serveSubresource answers for status, scale and finalize; the others that
// discovery names are refused plainly.
func (s *Server) serveSubresource(w http.ResponseWriter, r *request) error {
	res := r.served
	switch {
	case r.subresource == "status" && res.hasStatus(),
		r.subresource == "finalize" && res.gvr == namespacesGVR,
		r.subresource == "approval" && res.gvk.Kind == "CertificateSigningRequest",
		(r.subresource == "ephemeralcontainers" || r.subresource == "resize") && res.gvk.Kind == "Pod":
		return s.serveObjectPart(w, r)
	case r.subresource == "scale" && res.hasScale():
		return s.serveScale(w, r)
	case r.subresource == "binding" && res.gvk.Kind == "Pod":
		return s.handleBinding(w, r)
	}
	for _, known := range res.traits.all("sub:") {
		if known == r.subresource {
			if s.store.get(res.store, r.key()) == nil {
				return apierrors.NewNotFound(res.gr(), r.name)
			}
			return statusError(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
				"%s/%s is not simulated by this server", res.gvr.Resource, r.subresource)
		}
	}
	return errNoRoute()
}

func (s *Server) serveObjectPart(w http.ResponseWriter, r *request) error {
	switch r.verb {
	case "get":
		return s.handleGet(w, r)
	case "update":
		return s.handleUpdate(w, r)
	case "patch":
		return s.handlePatch(w, r)
	}
	return errNoMethod()
}

func (r *resource) hasScale() bool {
	if r.custom != nil {
		return r.custom.scale != nil
	}
	return r.traits.has("scale")
}

var scaleGVK = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// scaleView is the scale subresource seen as a resource of its own, without a
// collection.
var scaleView = &resource{
	gvr:   schema.GroupVersionResource{Group: "autoscaling", Version: "v1", Resource: "scales"},
	gvk:   scaleGVK,
	store: newCollection(schema.GroupResource{}, typedCodec{scaleGVK}, 1),
}

func (s *Server) serveScale(w http.ResponseWriter, r *request) error {
	parent := *r
	switch r.verb {
	case "get", "update", "patch":
	default:
		return errNoMethod()
	}
	view := parent
	view.served = scaleView
	f, err := writeFormat(&view)
	if err != nil {
		return err
	}
	before := s.store.get(r.served.store, r.key())
	if before == nil {
		return apierrors.NewNotFound(r.served.gr(), r.name)
	}
	if r.verb == "get" {
		return s.writeScale(w, r, f, before)
	}
	change, dryRun, err := scaleChange(w, &view)
	if err != nil {
		return err
	}
	after, _, err := s.update(r.served, r.key(), r.name, updateOptions{subresource: "scale", dryRun: dryRun, manager: managerOf(r), patch: true},
		func(old runtime.Object) (runtime.Object, error) { return r.served.rescale(old, change) })
	if err != nil {
		return err
	}
	return s.writeScale(w, r, f, after)
}

// scaleChange reads the body of an update or patch of a scale.
func scaleChange(w http.ResponseWriter, view *request) (func(runtime.Object) (runtime.Object, error), bool, error) {
	if view.verb == "patch" {
		p, err := readPatch(view)
		if err != nil {
			return nil, false, err
		}
		return func(old runtime.Object) (runtime.Object, error) { return p.apply(w, scaleView, old) }, p.dryRun, nil
	}
	var o metav1.UpdateOptions
	if err := queryInto(view, &o); err != nil {
		return nil, false, err
	}
	obj, err := readObject(w, view, o.FieldValidation)
	if err != nil {
		return nil, false, err
	}
	return func(runtime.Object) (runtime.Object, error) { return obj, nil }, len(o.DryRun) > 0, nil
}

// rescale applies a change of the scale to the object it belongs to.
func (r *resource) rescale(old runtime.Object, change func(runtime.Object) (runtime.Object, error)) (runtime.Object, error) {
	have, err := r.scaleOf(old)
	if err != nil {
		return nil, err
	}
	changed, err := change(have)
	if err != nil {
		return nil, err
	}
	scale, ok := changed.(*autoscalingv1.Scale)
	if !ok {
		return nil, badRequest("expected input object type to be Scale, but %T", changed)
	}
	if scale.Spec.Replicas < 0 {
		return nil, apierrors.NewInvalid(scaleGVK.GroupKind(), scale.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas, "must be greater than or equal to 0")})
	}
	out := old.DeepCopyObject()
	meta := metaOf(out)
	meta.SetResourceVersion(scale.ResourceVersion)
	if scale.UID != "" {
		meta.SetUID(scale.UID)
	}
	if r.custom != nil {
		custom := out.(*unstructured.Unstructured)
		return out, unstructured.SetNestedField(custom.Object, int64(scale.Spec.Replicas), r.custom.scale.replicas...)
	}
	spec := reflect.ValueOf(out).Elem().FieldByName("Spec")
	spec.FieldByName("Replicas").Set(reflect.ValueOf(&scale.Spec.Replicas))
	return out, nil
}

// scaleOf reads the scale of an object.
func (r *resource) scaleOf(obj runtime.Object) (*autoscalingv1.Scale, error) {
	meta := metaOf(obj)
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{
		Name:              meta.GetName(),
		Namespace:         meta.GetNamespace(),
		UID:               meta.GetUID(),
		ResourceVersion:   meta.GetResourceVersion(),
		CreationTimestamp: meta.GetCreationTimestamp(),
	}}
	if r.custom != nil {
		return scale, r.custom.scale.read(obj.(*unstructured.Unstructured), scale)
	}
	value := reflect.ValueOf(obj).Elem()
	if replicas, ok := value.FieldByName("Spec").FieldByName("Replicas").Interface().(*int32); ok && replicas != nil {
		scale.Spec.Replicas = *replicas
	}
	scale.Status.Replicas = int32(value.FieldByName("Status").FieldByName("Replicas").Int())
	switch selector := value.FieldByName("Spec").FieldByName("Selector").Interface().(type) {
	case *metav1.LabelSelector:
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			return nil, badRequest("%v", err)
		}
		scale.Status.Selector = parsed.String()
	case map[string]string:
		scale.Status.Selector = metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: selector})
	}
	return scale, nil
}

func (s *Server) writeScale(w http.ResponseWriter, r *request, f format, o *object) error {
	obj, err := r.served.decode(o)
	if err != nil {
		return err
	}
	scale, err := r.served.scaleOf(obj)
	if err != nil {
		return err
	}
	data, err := scaleView.wholeObject(f, scale)
	if err != nil {
		return err
	}
	writeObject(w, r.http, http.StatusOK, f.media, data)
	return nil
}
