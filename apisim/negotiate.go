package apisim

import (
	"mime"
	"net/http"
	"strings"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// mediaType is an encoding, by its name on the wire.
type mediaType string

const (
	mediaJSON     mediaType = "application/json"
	mediaYAML     mediaType = "application/yaml"
	mediaProtobuf mediaType = "application/vnd.kubernetes.protobuf"
)

// The encodings in the order of preference when the client accepts anything.
// Custom resources have no protobuf form of their own, but their metadata has.
var (
	builtinMedia = []mediaType{mediaJSON, mediaYAML, mediaProtobuf}
	customMedia  = []mediaType{mediaJSON, mediaYAML}
)

// transform is another shape that a client wants objects in.
type transform int

const (
	asItself transform = iota
	asMetadata
	asMetadataList
	asTable
)

// format is how objects are written to one client. Formats are comparable:
// equal formats of one event share a frame.
type format struct {
	media mediaType
	shape transform
	// version is the group version of the shape ("meta.k8s.io/v1"), or of
	// the objects themselves.
	version schema.GroupVersion

	// table is only set if the shape is a table.
	table tableForm
}

// negotiate picks the encoding of the answer. watch leaves out encodings that
// cannot be framed.
func negotiate(r *request, res *resource, watch bool) (format, error) {
	media := builtinMedia
	if res.custom != nil {
		media = customMedia
	}
	f, ok := negotiateMedia(r.http.Header.Get("Accept"), media, shapesOf)
	if !ok {
		return format{}, errNotAcceptable(media)
	}
	switch f.shape {
	case asItself:
		f.version = res.gvr.GroupVersion()
	case asTable:
		var err error
		if f.table, err = tableFormOf(r.http); err != nil {
			return format{}, err
		}
	}
	if watch && f.media == mediaYAML {
		var streams []mediaType
		for _, m := range media {
			if m != mediaYAML {
				streams = append(streams, m+";stream=watch")
			}
		}
		return format{}, errNotAcceptable(streams)
	}
	return f, nil
}

// negotiateMedia goes through the clauses of an Accept header in the order of
// the client's preference and takes the first that can be served. shapes says
// whether a transform is possible in an encoding; nil allows none.
func negotiateMedia(accept string, media []mediaType, shapes func(mediaType, schema.GroupVersionKind) (transform, bool)) (format, bool) {
	if accept == "" {
		return format{media: media[0]}, true
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		as, want := transformOf(clause.Params)
		for _, m := range builtinMedia {
			if !matches(clause, m) || !streams(clause.Params["stream"], m) {
				continue
			}
			if !want {
				if contains(media, m) {
					return format{media: m}, true
				}
				continue
			}
			if shapes == nil {
				continue
			}
			if shape, ok := shapes(m, as); ok {
				return format{media: m, shape: shape, version: as.GroupVersion()}, true
			}
		}
	}
	return format{}, false
}

func matches(clause goautoneg.Accept, m mediaType) bool {
	kind, sub, _ := strings.Cut(string(m), "/")
	switch {
	case clause.Type == "*" && clause.SubType == "*":
		return true
	case clause.Type == kind:
		return clause.SubType == "*" || clause.SubType == sub
	}
	return false
}

// streams reports whether the stream parameter of a clause can be served.
func streams(stream string, m mediaType) bool {
	return stream == "" || stream == "watch" && m != mediaYAML
}

func transformOf(params map[string]string) (schema.GroupVersionKind, bool) {
	gvk := schema.GroupVersionKind{Group: params["g"], Version: params["v"], Kind: params["as"]}
	return gvk, !gvk.Empty()
}

// shapesOf knows the transforms of the meta group.
func shapesOf(m mediaType, as schema.GroupVersionKind) (transform, bool) {
	if as.Group != metav1.GroupName || as.Version != "v1" && as.Version != "v1beta1" {
		return asItself, false
	}
	switch as.Kind {
	case "PartialObjectMetadata":
		return asMetadata, true
	case "PartialObjectMetadataList":
		return asMetadataList, true
	case "Table":
		return asTable, tablesServed && m != mediaProtobuf
	}
	return asItself, false
}

func contains(list []mediaType, m mediaType) bool {
	for _, have := range list {
		if have == m {
			return true
		}
	}
	return false
}

// bodyMedia reads the Content-Type of a request body.
func bodyMedia(h *http.Request, allowed []mediaType) (mediaType, error) {
	header := h.Header.Get("Content-Type")
	if header == "" {
		return mediaJSON, nil
	}
	name, _, err := mime.ParseMediaType(header)
	if err == nil && contains(allowed, mediaType(name)) {
		return mediaType(name), nil
	}
	return "", errUnsupportedMedia(allowed)
}

// checkShape refuses a shape for lists where one object is answered, and the
// other way round.
func (f format) checkShape(list bool) error {
	switch {
	case f.shape == asMetadata && list:
		return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"you requested PartialObjectMetadata, but the requested object is a list")
	case f.shape == asMetadataList && !list:
		return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"you requested PartialObjectMetadataList, but the requested object is not a list")
	}
	return nil
}
