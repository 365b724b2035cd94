package apisim

import (
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// prepareCreate resets what clients may not choose when they create an
// object, and sets the few defaults that clients rely on.
func prepareCreate(res *resource, obj runtime.Object) {
	if res.hasStatus() && res.gvk.Kind != "Node" {
		clearStatus(obj)
	}
	metaOf(obj).SetGeneration(0)
	if res.counts() {
		metaOf(obj).SetGeneration(1)
	}
	setDefaults(obj)
	if res.gvr == crdGVR {
		establish(obj.(*unstructured.Unstructured))
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		o.Status.Phase = corev1.PodPending
		o.Status.QOSClass = qosClass(o)
	case *corev1.PersistentVolumeClaim:
		o.Status.Phase = corev1.ClaimPending
	case *corev1.PersistentVolume:
		o.Status.Phase = corev1.VolumePending
	case *corev1.Namespace:
		o.Status.Phase = corev1.NamespaceActive
		o.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
	}
}

// qosClass is the class of a pod by the requests and limits of its containers.
func qosClass(pod *corev1.Pod) corev1.PodQOSClass {
	any, guaranteed := false, true
	for _, c := range pod.Spec.Containers {
		any = any || len(c.Resources.Requests) > 0 || len(c.Resources.Limits) > 0
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, ok := c.Resources.Limits[name]
			request, asked := c.Resources.Requests[name]
			if !ok || asked && request.Cmp(limit) != 0 {
				guaranteed = false
			}
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// prepareUpdate keeps what an update may not change: all but the status
// through the status subresource, the status through the object itself, and
// always what belongs to the server.
func prepareUpdate(res *resource, obj, old runtime.Object, subresource string) {
	meta, was := metaOf(obj), metaOf(old)
	switch {
	case subresource == "status":
		keepAllButStatus(obj, old)
		meta = metaOf(obj)
	case res.hasStatus():
		copyStatus(obj, old)
	}
	if subresource != "status" {
		setDefaults(obj)
	}
	meta.SetGeneration(was.GetGeneration())
	meta.SetManagedFields(was.GetManagedFields())
	meta.SetSelfLink("")
	if meta.GetUID() == "" {
		meta.SetUID(was.GetUID())
	}
	meta.SetCreationTimestamp(was.GetCreationTimestamp())
	meta.SetDeletionTimestamp(was.GetDeletionTimestamp())
	meta.SetDeletionGracePeriodSeconds(was.GetDeletionGracePeriodSeconds())
	if res.counts() && specChanged(obj, old, res.hasStatus()) {
		meta.SetGeneration(was.GetGeneration() + 1)
	}
}

func (r *resource) hasStatus() bool {
	if r.custom != nil {
		return r.custom.status
	}
	return r.traits.has("status")
}

// counts reports whether the server counts generations.
func (r *resource) counts() bool { return r.custom != nil || r.traits.has("generation") }

// keepAllButStatus turns an update into one of the status. Custom resources
// keep everything else; built-in types take over the metadata, too.
func keepAllButStatus(obj, old runtime.Object) {
	if custom, ok := obj.(*unstructured.Unstructured); ok {
		status, has := custom.Object["status"]
		version := custom.GetResourceVersion()
		custom.Object = old.(*unstructured.Unstructured).DeepCopy().Object
		custom.SetResourceVersion(version)
		delete(custom.Object, "status")
		if has {
			custom.Object["status"] = status
		}
		return
	}
	now, was := reflect.ValueOf(obj).Elem(), reflect.ValueOf(old.DeepCopyObject()).Elem()
	for i := range now.NumField() {
		switch now.Type().Field(i).Name {
		case "ObjectMeta", "Status":
		default:
			now.Field(i).Set(was.Field(i))
		}
	}
	switch was := old.(type) {
	case *corev1.Pod:
		pod := obj.(*corev1.Pod)
		pod.OwnerReferences = was.OwnerReferences
		defaultTo(&pod.Status.QOSClass, was.Status.QOSClass)
	case *appsv1.Deployment:
		metaOf(obj).SetLabels(was.Labels)
	}
}

func copyStatus(to, from runtime.Object) {
	if custom, ok := to.(*unstructured.Unstructured); ok {
		status, has := from.(*unstructured.Unstructured).Object["status"]
		delete(custom.Object, "status")
		if has {
			custom.Object["status"] = runtime.DeepCopyJSONValue(status)
		}
		return
	}
	status := statusOf(reflect.ValueOf(from.DeepCopyObject()).Elem())
	if status.IsValid() {
		statusOf(reflect.ValueOf(to).Elem()).Set(status)
	}
}

func clearStatus(obj runtime.Object) {
	if custom, ok := obj.(*unstructured.Unstructured); ok {
		delete(custom.Object, "status")
		return
	}
	if status := statusOf(reflect.ValueOf(obj).Elem()); status.IsValid() {
		status.SetZero()
	}
}

func statusOf(object reflect.Value) reflect.Value { return object.FieldByName("Status") }

// specChanged compares everything but metadata and, where it is written on
// its own, status.
func specChanged(obj, old runtime.Object, statusApart bool) bool {
	if custom, ok := obj.(*unstructured.Unstructured); ok {
		return !apiequality.Semantic.DeepEqual(customSpec(custom, statusApart), customSpec(old.(*unstructured.Unstructured), statusApart))
	}
	now, was := reflect.ValueOf(obj).Elem(), reflect.ValueOf(old).Elem()
	for i := range now.NumField() {
		switch now.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		default:
			if !apiequality.Semantic.DeepEqual(now.Field(i).Interface(), was.Field(i).Interface()) {
				return true
			}
		}
	}
	return false
}

func customSpec(u *unstructured.Unstructured, statusApart bool) map[string]any {
	out := map[string]any{}
	for key, value := range u.Object {
		if key == "metadata" || key == "apiVersion" || key == "kind" || statusApart && key == "status" {
			continue
		}
		out[key] = value
	}
	return out
}

// validate checks names, labels, annotations and the other metadata.
func validate(res *resource, obj runtime.Object) error {
	meta := metaOf(obj)
	at := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaAccessor(meta, res.namespaced, nameRule(res), at)
	errs = append(errs, validateContent(res, obj)...)
	if len(errs) > 0 {
		return apierrors.NewInvalid(res.gvk.GroupKind(), meta.GetName(), errs)
	}
	if res.gvr == crdGVR {
		return validateDefinition(obj.(*unstructured.Unstructured))
	}
	return nil
}

// pathSegmentName allows all names that can stand in a path.
func pathSegmentName(name string, prefix bool) []string {
	if prefix {
		return path.IsValidPathSegmentPrefix(name)
	}
	return path.IsValidPathSegmentName(name)
}

func validateUpdate(res *resource, obj, old runtime.Object) error {
	meta := metaOf(obj)
	at := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaAccessor(meta, res.namespaced, nameRule(res), at)
	errs = append(errs, validation.ValidateObjectMetaAccessorUpdate(meta, metaOf(old), at)...)
	errs = append(errs, validateContent(res, obj)...)
	errs = append(errs, validateImmutable(obj, old)...)
	if len(errs) > 0 {
		return apierrors.NewInvalid(res.gvk.GroupKind(), meta.GetName(), errs)
	}
	if res.gvr == crdGVR {
		return validateRedefinition(obj.(*unstructured.Unstructured), old.(*unstructured.Unstructured))
	}
	return nil
}

// nameRule is how names of a resource must look.
func nameRule(res *resource) validation.ValidateNameFunc {
	if res.gvk.Group == "rbac.authorization.k8s.io" {
		return pathSegmentName
	}
	switch res.gvk.Kind {
	case "Namespace":
		return validation.ValidateNamespaceName
	case "Service":
		return validation.NameIsDNS1035Label
	case "Event":
		return pathSegmentName
	}
	return validation.NameIsDNSSubdomain
}

func errVersionRequired(res *resource, name string) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: res.gvr.Group, Kind: res.gvr.Resource}, name, field.ErrorList{
		field.Invalid(field.NewPath("metadata").Child("resourceVersion"), uint64(0), "must be specified for an update"),
	})
}

func now() metav1.Time { return metav1.NewTime(time.Now().UTC().Truncate(time.Second)) }
