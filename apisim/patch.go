package apisim

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxPatchOperations is how many operations a JSON patch may have.
const maxPatchOperations = 10_000

// patchTypes of built-in types and of custom resources.
var (
	builtinPatches = []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType}
	customPatches  = []types.PatchType{types.JSONPatchType, types.MergePatchType}
)

// handlePatch changes an object by a patch.
func (s *Server) handlePatch(w http.ResponseWriter, r *request) error {
	if r.name == "" || !r.served.allows("patch") {
		return errNoMethod()
	}
	p, err := readPatch(r)
	if err != nil {
		return err
	}
	result, _, err := s.update(r.served, r.key(), r.name, updateOptions{
		subresource: r.subresource,
		dryRun:      p.dryRun,
		manager:     managerOf(r),
		patch:       true,
	}, func(old runtime.Object) (runtime.Object, error) {
		return p.apply(w, r.served, old)
	})
	if err != nil {
		return err
	}
	return r.served.writeOne(w, r.http, http.StatusOK, p.format, result)
}

// patchRequest is a patch and how to answer it.
type patchRequest struct {
	kind       types.PatchType
	data       []byte
	format     format
	dryRun     bool
	validation string
}

func readPatch(r *request) (*patchRequest, error) {
	name, _, _ := strings.Cut(r.http.Header.Get("Content-Type"), ";")
	p := &patchRequest{kind: types.PatchType(strings.TrimSpace(name))}
	allowed := builtinPatches
	if r.served.custom != nil {
		allowed = customPatches
	}
	if p.kind == types.ApplyYAMLPatchType {
		return nil, statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
			"this server does not do server-side apply - accepted media types include: %s", join(allowed))
	}
	if !containsPatch(allowed, p.kind) {
		return nil, errUnsupportedMedia(allowed)
	}
	var err error
	if p.format, err = writeFormat(r); err != nil {
		return nil, err
	}
	if p.data, err = readBody(r.http); err != nil {
		return nil, err
	}
	var o metav1.PatchOptions
	if err := queryInto(r, &o); err != nil {
		return nil, err
	}
	if errs := metav1validation.ValidatePatchOptions(&o, p.kind); len(errs) > 0 {
		return nil, invalidOptions("PatchOptions", errs)
	}
	p.dryRun, p.validation = len(o.DryRun) > 0, o.FieldValidation
	return p, nil
}

func containsPatch(list []types.PatchType, p types.PatchType) bool {
	for _, have := range list {
		if have == p {
			return true
		}
	}
	return false
}

// apply returns the patched object.
func (p *patchRequest) apply(w http.ResponseWriter, res *resource, old runtime.Object) (runtime.Object, error) {
	item, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	apiVersion, kind := res.gvk.ToAPIVersionAndKind()
	original := appendTyped(nil, apiVersion, kind, item)
	patched, err := p.applyJSON(original, old)
	if err != nil {
		return nil, err
	}
	obj, err := p.decode(w, res, patched)
	if err != nil {
		return nil, err
	}
	meta, was := metaOf(obj), metaOf(old)
	if meta.GetNamespace() != was.GetNamespace() {
		return nil, badRequest("the namespace of the object (%s) does not match the namespace on the request (%s)",
			meta.GetNamespace(), was.GetNamespace())
	}
	return obj, matchName(was.GetName(), meta)
}

// decode reads the result of a patch; what cannot be read is invalid rather
// than a bad request.
func (p *patchRequest) decode(w http.ResponseWriter, res *resource, patched []byte) (runtime.Object, error) {
	obj, err := res.decodeBody(w, mediaJSON, patched, p.validation)
	var wrong *bodyError
	if errors.As(err, &wrong) {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
			field.Invalid(field.NewPath("patch"), string(patched), wrong.cause.Error())})
	}
	return obj, err
}

func (p *patchRequest) applyJSON(original []byte, old runtime.Object) ([]byte, error) {
	switch p.kind {
	case types.JSONPatchType:
		operations, err := jsonpatch.DecodePatch(p.data)
		if err != nil {
			return nil, badRequest("error decoding patch: %v", err)
		}
		if len(operations) > maxPatchOperations {
			return nil, apierrors.NewRequestEntityTooLargeError("a JSON patch may have no more than 10000 operations")
		}
		patched, err := operations.Apply(original)
		if err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
		return patched, nil
	case types.MergePatchType:
		var document map[string]any
		if err := json.Unmarshal(p.data, &document); err != nil {
			return nil, badRequest("error decoding patch: %v", err)
		}
		patched, err := jsonpatch.MergePatch(original, p.data)
		if err != nil {
			return nil, badRequest("error decoding patch: %v", err)
		}
		return patched, nil
	}
	return strategicMergePatch(original, p.data, old)
}
