package apisim

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializerjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// maxBody is the size from which a request body is refused, as the real
// server does.
const maxBody = 3 << 20

// readBody reads a request body up to the limit.
func readBody(h *http.Request) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(h.Body, maxBody+1))
	if err != nil {
		return nil, badRequest("read the request body: %v", err)
	}
	if len(data) > maxBody {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return data, nil
}

// readObject decodes the body of a create or update in the version of the
// resource. Fields that the type does not know are refused, warned of or
// ignored, as fieldValidation says.
func readObject(w http.ResponseWriter, r *request, fieldValidation string) (runtime.Object, error) {
	accepted := builtinMedia
	if r.served.custom != nil {
		accepted = customMedia
	}
	media, err := bodyMedia(r.http, accepted)
	if err != nil {
		return nil, err
	}
	data, err := readBody(r.http)
	if err != nil {
		return nil, err
	}
	return r.served.decodeBody(w, media, data, fieldValidation)
}

func (r *resource) decodeBody(w http.ResponseWriter, media mediaType, data []byte, fieldValidation string) (runtime.Object, error) {
	strict := fieldValidation != metav1.FieldValidationIgnore
	obj, gvk, err := r.parse(media, data, strict)
	if problems, ok := runtime.AsStrictDecodingError(err); ok && obj != nil && fieldValidation != metav1.FieldValidationStrict {
		for _, problem := range problems.Errors() {
			addWarning(w, problem.Error())
		}
		err = nil
	}
	if err != nil {
		return nil, r.errBody(gvk, err, data)
	}
	if gvk.GroupVersion() != r.gvk.GroupVersion() {
		return nil, badRequest("the API version in the data (%s) does not match the expected API version (%s)",
			gvk.GroupVersion(), r.gvk.GroupVersion())
	}
	if gvk.Kind != r.gvk.Kind && r.custom != nil {
		return nil, apierrors.NewInvalid(r.gvk.GroupKind(), metaOf(obj).GetName(), field.ErrorList{
			field.Invalid(field.NewPath("kind"), gvk.Kind, "must be "+r.gvk.Kind)})
	}
	if gvk.Kind != r.gvk.Kind {
		return nil, r.errBody(gvk, errors.New("it is another kind"), data)
	}
	return obj, nil
}

func addWarning(w http.ResponseWriter, text string) {
	if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
		w.Header().Add("Warning", header)
	}
}

func (r *resource) parse(media mediaType, data []byte, strict bool) (runtime.Object, *schema.GroupVersionKind, error) {
	if r.custom != nil {
		return r.parseCustom(media, data, strict)
	}
	var decoder runtime.Decoder
	switch media {
	case mediaProtobuf:
		decoder = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	default:
		decoder = serializerjson.NewSerializerWithOptions(serializerjson.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
			serializerjson.SerializerOptions{Yaml: media == mediaYAML, Strict: strict})
	}
	gvk := r.gvk
	obj, found, err := decoder.Decode(data, &gvk, nil)
	if found == nil {
		found = &schema.GroupVersionKind{}
	}
	return obj, found, err
}

// parseCustom reads a custom resource, which must name its kind.
func (r *resource) parseCustom(media mediaType, data []byte, strict bool) (runtime.Object, *schema.GroupVersionKind, error) {
	if media == mediaYAML {
		var err error
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, &schema.GroupVersionKind{}, err
		}
	}
	obj := &unstructured.Unstructured{}
	problems, err := kjson.UnmarshalStrict(data, &obj.Object)
	if err == nil && obj.Object == nil {
		err = errors.New("the body is no object")
	}
	if err != nil {
		return nil, &schema.GroupVersionKind{}, err
	}
	if err := checkCustom(obj); err != nil {
		return nil, &schema.GroupVersionKind{}, err
	}
	gvk := obj.GroupVersionKind()
	if r.gvr == crdGVR {
		gvk.Kind = cmp.Or(gvk.Kind, crdGVK.Kind)
		if gvk.Version == "" {
			gvk.Group, gvk.Version = crdGVK.Group, crdGVK.Version
		}
		obj.SetGroupVersionKind(gvk)
	}
	if gvk.Kind == "" {
		return nil, &gvk, runtime.NewMissingKindErr(summary(data))
	}
	if gvk.Version == "" {
		return nil, &gvk, runtime.NewMissingVersionErr(summary(data))
	}
	if schema := r.custom.schema; schema != nil {
		for _, path := range schema.prune(obj.Object, "", true) {
			problems = append(problems, fmt.Errorf("unknown field %q", path))
		}
		schema.fill(obj.Object)
	}
	if strict && len(problems) > 0 {
		return obj, &gvk, runtime.NewStrictDecodingError(problems)
	}
	return obj, &gvk, nil
}

// checkCustom makes sure that kind and metadata have the types that the
// accessors of unstructured objects rely on.
func checkCustom(obj *unstructured.Unstructured) error {
	for _, name := range []string{"apiVersion", "kind"} {
		if value, ok := obj.Object[name]; ok {
			if _, ok := value.(string); !ok {
				return fmt.Errorf("%s must be a string", name)
			}
		}
	}
	value, ok := obj.Object["metadata"]
	if !ok || value == nil {
		obj.Object["metadata"] = map[string]any{}
		return nil
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return errors.New("metadata must be an object")
	}
	var meta metav1.ObjectMeta
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &meta); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	return nil
}

// errBody says why a body cannot be taken for an object of the resource.
func (r *resource) errBody(gvk *schema.GroupVersionKind, err error, body []byte) error {
	return &bodyError{APIStatus: r.bodyStatus(gvk, err, body), cause: err}
}

// bodyError is a bad request because of a body that cannot be decoded.
type bodyError struct {
	apierrors.APIStatus
	cause error
}

func (e *bodyError) Error() string { return e.cause.Error() }

func (r *resource) bodyStatus(gvk *schema.GroupVersionKind, err error, body []byte) apierrors.APIStatus {
	if gvk != nil && gvk.Kind != "" {
		return badRequest("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, r.gvk.Kind, err)
	}
	return badRequest("the object provided is unrecognized (must be of type %s): %v (%s)", r.gvk.Kind, err, summary(body))
}

func summary(body []byte) string {
	const limit = 30
	more := ""
	if len(body) > limit {
		body, more = body[:limit], " ..."
	}
	switch {
	case len(body) == 0:
		return "<empty>"
	case body[0] == '{':
		return string(body) + more
	}
	return hex.EncodeToString(body) + more
}
