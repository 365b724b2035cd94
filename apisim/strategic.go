package apisim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// strategicMergePatch applies a strategic merge patch to the JSON of an
// object; like is an object of its type, whose struct tags say how lists are
// merged.
func strategicMergePatch(original, patch []byte, like runtime.Object) ([]byte, error) {
	var fields, changes map[string]any
	if err := utiljson.Unmarshal(original, &fields); err != nil {
		return nil, err
	}
	if err := utiljson.Unmarshal(patch, &changes); err != nil {
		return nil, badRequest("%v", err)
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(fields, changes, like)
	if err != nil {
		return nil, strategicError(err)
	}
	typed := reflect.New(reflect.TypeOf(like).Elem()).Interface()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(merged, typed); err != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{
			field.Invalid(field.NewPath("patch"), fmt.Sprintf("%+v", changes), err.Error())})
	}
	return json.Marshal(merged)
}

// strategicError distinguishes a malformed patch from one that does not fit the
// object.
func strategicError(err error) error {
	for _, malformed := range []error{
		mergepatch.ErrBadJSONDoc,
		mergepatch.ErrBadPatchFormatForPrimitiveList,
		mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList,
		mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	} {
		if errors.Is(err, malformed) {
			return badRequest("%v", err)
		}
	}
	if errors.Is(err, mergepatch.ErrNoListOfLists) || errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys) {
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return err
}
