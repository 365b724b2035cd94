package apisim

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
)

// handleDelete deletes one object, or marks it as being deleted while it has
// finalizers.
func (s *Server) handleDelete(w http.ResponseWriter, r *request) error {
	if !r.served.allows("delete") {
		return errNoMethod()
	}
	f, err := writeFormat(r)
	if err != nil {
		return err
	}
	o, err := deleteOptions(r)
	if err != nil {
		return err
	}
	last, gone, err := s.delete(r.served, r.key(), r.name, o)
	if err != nil {
		return err
	}
	if !gone || r.served.traits.has("returned") {
		return r.served.writeOne(w, r.http, http.StatusOK, f, last)
	}
	obj, err := r.served.decode(last)
	if err != nil {
		return err
	}
	writeStatus(w, r.http, http.StatusOK, &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details: &metav1.StatusDetails{
			Name:  r.name,
			Group: r.served.gvr.Group,
			Kind:  r.served.gvr.Resource,
			UID:   metaOf(obj).GetUID(),
		},
	})
	return nil
}

// deleteOptions reads the options from the body, or from the query if there
// is none.
func deleteOptions(r *request) (*metav1.DeleteOptions, error) {
	o := &metav1.DeleteOptions{}
	body, err := readBody(r.http)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		if err := queryInto(r, o); err != nil {
			return nil, err
		}
	} else {
		media, err := bodyMedia(r.http, builtinMedia)
		if err != nil {
			return nil, err
		}
		if err := decodeDeleteOptions(media, body, o); err != nil {
			return nil, badRequest("%v", err)
		}
	}
	if errs := metav1validation.ValidateDeleteOptions(o); len(errs) > 0 {
		return nil, invalidOptions("DeleteOptions", errs)
	}
	return o, nil
}

func decodeDeleteOptions(media mediaType, body []byte, into *metav1.DeleteOptions) error {
	for _, info := range metainternalscheme.Codecs.SupportedMediaTypes() {
		if info.MediaType != string(media) {
			continue
		}
		gvk := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
		decoder := metainternalscheme.Codecs.DecoderToVersion(info.Serializer, gvk.GroupVersion())
		obj, _, err := decoder.Decode(body, &gvk, into)
		if err == nil && obj != into {
			err = errors.New("decoded object cannot be converted to DeleteOptions")
		}
		return err
	}
	return fmt.Errorf("no decoder for %s", media)
}

// delete removes an object and returns its last state; while it has
// finalizers it is only marked, and gone is false.
func (s *Server) delete(res *resource, key, name string, o *metav1.DeleteOptions) (last *object, gone bool, err error) {
	for {
		before := s.store.get(res.store, key)
		if before == nil {
			return nil, false, apierrors.NewNotFound(res.gr(), name)
		}
		last, gone, err := s.tryDelete(res, before, name, o)
		if !errors.Is(err, errChanged) {
			return last, gone, err
		}
	}
}

func (s *Server) tryDelete(res *resource, before *object, name string, o *metav1.DeleteOptions) (*object, bool, error) {
	obj, err := res.store.codec.decode(before.data())
	if err != nil {
		return nil, false, err
	}
	meta := metaOf(obj)
	if err := deletePreconditions(res, meta, o.Preconditions); err != nil {
		return nil, false, err
	}
	if res.gvr == namespacesGVR {
		return s.deleteNamespace(res, before, o)
	}
	changed := setCollectorFinalizers(meta, o)
	if pod, ok := obj.(*corev1.Pod); ok {
		return s.deletePod(res, before, pod, o)
	}
	if len(meta.GetFinalizers()) == 0 {
		if len(o.DryRun) > 0 {
			return before, true, nil
		}
		last, err := s.store.remove(res.store, before)
		return last, true, err
	}
	if marked := markDeleted(meta, 0); !marked && !changed || len(o.DryRun) > 0 {
		return before, false, nil
	}
	after, err := s.store.put(res.store, before.key, before, obj, false, nil)
	return after, false, err
}

// setCollectorFinalizers adds or removes the finalizers by which a deletion
// waits for the garbage collector. There is none here: a client takes them
// away.
func setCollectorFinalizers(meta metav1.Object, o *metav1.DeleteOptions) bool {
	var wanted string
	switch {
	case o.PropagationPolicy == nil && o.OrphanDependents == nil:
		return false
	case o.PropagationPolicy != nil && *o.PropagationPolicy == metav1.DeletePropagationForeground:
		wanted = metav1.FinalizerDeleteDependents
	case o.PropagationPolicy != nil && *o.PropagationPolicy == metav1.DeletePropagationOrphan,
		o.OrphanDependents != nil && *o.OrphanDependents:
		wanted = metav1.FinalizerOrphanDependents
	}
	was := meta.GetFinalizers()
	next := slices.DeleteFunc(slices.Clone(was), func(f string) bool {
		return f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	})
	if wanted != "" {
		next = append(next, wanted)
	}
	meta.SetFinalizers(next)
	return !slices.Equal(was, next)
}

// markDeleted sets when an object will be gone. It returns false if that is
// no sooner than it is already.
func markDeleted(meta metav1.Object, grace int64) bool {
	if have := meta.GetDeletionGracePeriodSeconds(); meta.GetDeletionTimestamp() != nil && (have == nil || *have <= grace) {
		return false
	}
	if meta.GetDeletionTimestamp() == nil && meta.GetGeneration() > 0 {
		meta.SetGeneration(meta.GetGeneration() + 1)
	}
	due := metav1.NewTime(now().Add(time.Duration(grace) * time.Second))
	meta.SetDeletionTimestamp(&due)
	meta.SetDeletionGracePeriodSeconds(&grace)
	return true
}

// deletePod deletes a pod in two steps: it is marked, and it is removed once
// its grace period is 0 and it has no finalizers. A pod on a node keeps its
// grace period until a kubelet deletes it with 0.
func (s *Server) deletePod(res *resource, before *object, pod *corev1.Pod, o *metav1.DeleteOptions) (*object, bool, error) {
	grace := gracePeriod(pod, o)
	marked := markDeleted(pod, grace)
	gone := *pod.DeletionGracePeriodSeconds == 0 && len(pod.Finalizers) == 0
	if len(o.DryRun) > 0 || !marked && !gone {
		return before, gone, nil
	}
	if marked {
		after, err := s.store.put(res.store, before.key, before, pod, false, nil)
		if err != nil || !gone {
			return after, false, err
		}
		before = after
	}
	last, err := s.store.remove(res.store, before)
	return last, true, err
}

// gracePeriod is 0 for pods that no kubelet has to stop.
func gracePeriod(pod *corev1.Pod, o *metav1.DeleteOptions) int64 {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	if o.GracePeriodSeconds != nil {
		return max(*o.GracePeriodSeconds, 0)
	}
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return corev1.DefaultTerminationGracePeriodSeconds
}

func deletePreconditions(res *resource, meta metav1.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	if p.UID != nil && *p.UID != meta.GetUID() {
		return conflict(res, meta, "Precondition failed: UID in precondition: %v, UID in object meta: %v", *p.UID, meta.GetUID())
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != meta.GetResourceVersion() {
		return conflict(res, meta, "Precondition failed: ResourceVersion in precondition: %v, ResourceVersion in object meta: %v",
			*p.ResourceVersion, meta.GetResourceVersion())
	}
	return nil
}

func conflict(res *resource, meta metav1.Object, format string, args ...any) error {
	return apierrors.NewConflict(res.gr(), meta.GetName(), fmt.Errorf(format, args...))
}

// handleDeleteCollection deletes every object of a selection and answers with
// the list of them.
func (s *Server) handleDeleteCollection(w http.ResponseWriter, r *request) error {
	if !r.served.allows("deletecollection") {
		return errNoMethod()
	}
	f, err := negotiate(r, r.served, false)
	if err != nil {
		return err
	}
	lo, err := listOptions(r)
	if err != nil {
		return err
	}
	do, err := deleteOptions(r)
	if err != nil {
		return err
	}
	if err := f.checkShape(true); err != nil {
		return err
	}
	chosen, err := newSelection(r, lo)
	if err != nil {
		return err
	}
	state, err := s.stateFor(r, lo, chosen)
	if err != nil {
		return err
	}
	page := state.page(chosen, lo)
	for _, o := range page.objects {
		_, name := splitKey(o.key)
		if _, _, err := s.delete(r.served, o.key, name, do); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return r.served.writeList(w, r.http, f, page)
}
