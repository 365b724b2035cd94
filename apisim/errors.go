package apisim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// toStatus makes the Status body of an error.
func toStatus(err error) *metav1.Status {
	status := metav1.Status{Message: err.Error()}
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		status = known.Status()
	}
	status.Kind, status.APIVersion = "Status", "v1"
	if status.Status == "" {
		status.Status = metav1.StatusFailure
	}
	if status.Code == 0 {
		status.Code = http.StatusInternalServerError
	}
	return &status
}

// writeError answers with the Status of an error, in the encoding the client
// prefers, or in JSON if it wants none that a Status can have.
func writeError(w http.ResponseWriter, h *http.Request, err error) {
	status := toStatus(err)
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	writeStatus(w, h, int(status.Code), status)
}

func writeStatus(w http.ResponseWriter, h *http.Request, code int, status *metav1.Status) {
	w.Header().Set("Cache-Control", "no-cache, private")
	media, ok := negotiateMedia(h.Header.Get("Accept"), builtinMedia, nil)
	if !ok {
		body, _ := json.MarshalIndent(status, "", "  ")
		w.Header().Set("Content-Type", string(mediaJSON))
		w.WriteHeader(code)
		_, _ = w.Write(body)
		return
	}
	body, err := encodeMeta(media.media, metav1.Unversioned.WithKind("Status"), status)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", string(media.media))
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// statusError makes an error of a code, a reason and a message.
func statusError(code int, reason metav1.StatusReason, format string, args ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    int32(code),
		Reason:  reason,
		Message: fmt.Sprintf(format, args...),
	}}
}

func errNotAcceptable(media []mediaType) error {
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: %s", join(media))
}

func errUnsupportedMedia[T ~string](accepted []T) error {
	return statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		"the body of the request was in an unknown format - accepted media types include: %s", join(accepted))
}

func join[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}

// errNoRoute: the group and version exist, the resource or subresource not.
func errNoRoute() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "404: Page Not Found", 0, false)
}

func errNoMethod() error {
	return apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, "", schema.GroupResource{}, "", "405: Method Not Allowed", 0, false)
}

func errTooLarge(want, have uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", want, have), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

func badRequest(format string, args ...any) *apierrors.StatusError {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

// writeMeta answers with an object of the meta group.
func writeMeta(w http.ResponseWriter, h *http.Request, gvk schema.GroupVersionKind, obj runtime.Object) {
	f, ok := negotiateMedia(h.Header.Get("Accept"), builtinMedia, nil)
	if !ok {
		writeError(w, h, errNotAcceptable(builtinMedia))
		return
	}
	data, err := encodeMeta(f.media, gvk, obj)
	if err != nil {
		writeError(w, h, err)
		return
	}
	writeObject(w, h, http.StatusOK, f.media, data)
}
