package apisim

import (
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metainternalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// listOptions reads and checks the query of a list, watch or
// deletecollection.
func listOptions(r *request) (*metainternal.ListOptions, error) {
	o := &metainternal.ListOptions{}
	if err := queryInto(r, o); err != nil {
		return nil, err
	}
	o.Watch = r.verb == "watch"
	metainternal.SetListOptionsDefaults(o, true)
	if errs := metainternalvalidation.ValidateListOptions(o, true); len(errs) > 0 {
		return nil, invalidOptions("ListOptions", errs)
	}
	return o, nil
}

func queryInto(r *request, into runtime.Object) error {
	err := metainternalscheme.ParameterCodec.DecodeParameters(r.http.URL.Query(), metav1.SchemeGroupVersion, into)
	if err != nil {
		return badRequest("%v", err)
	}
	return nil
}

func invalidOptions(kind string, errs field.ErrorList) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}

// parseVersion reads a resource version; unset is 0.
func parseVersion(version string) (uint64, error) {
	if version == "" {
		return 0, nil
	}
	return strconv.ParseUint(version, 10, 64)
}
