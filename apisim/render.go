package apisim

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// kindIn is the kind that one object has when it is written in a format.
func (r *resource) kindIn(f format) schema.GroupVersionKind {
	switch f.shape {
	case asMetadata, asMetadataList:
		return f.version.WithKind("PartialObjectMetadata")
	case asTable:
		return f.version.WithKind("Table")
	}
	return r.gvk
}

// listKindIn is the kind of a list in a format.
func (r *resource) listKindIn(f format) schema.GroupVersionKind {
	if f.shape == asMetadata || f.shape == asMetadataList {
		return f.version.WithKind("PartialObjectMetadataList")
	}
	return r.gvk.GroupVersion().WithKind(r.listKindName())
}

// native reports whether a format is the one that objects are kept in.
func (r *resource) native(f format) bool {
	return f.shape == asItself && r.gvk == r.store.codec.kind() && (f.media == mediaProtobuf) == (r.custom == nil)
}

// itemSize is the length of what item returns.
func (r *resource) itemSize(f format, o *object, u *unpacker) (int, error) {
	if r.native(f) {
		return o.size, nil
	}
	item, err := r.itemOf(f, u.data(o))
	return len(item), err
}

// item encodes an object as it stands inside a list or an envelope. The
// result may share memory with the store.
func (r *resource) item(f format, o *object) ([]byte, error) { return r.itemOf(f, o.data()) }

// itemOf is item for the bytes of an object, with which the result may share
// memory.
func (r *resource) itemOf(f format, data []byte) ([]byte, error) {
	if r.native(f) {
		return data, nil
	}
	switch f.shape {
	case asMetadata, asMetadataList:
		return r.metadataOf(f, data)
	case asTable:
		return r.tableItem(f, &object{blob: plain(data)})
	}
	obj, err := r.decodeData(data)
	if err != nil {
		return nil, err
	}
	switch {
	case r.custom != nil:
		return customCodec{r.gvk}.encode(obj)
	case f.media == mediaProtobuf:
		return typedCodec{r.gvk}.encode(obj)
	}
	return json.Marshal(obj)
}

// decode returns an object in the version of the resource.
func (r *resource) decode(o *object) (runtime.Object, error) { return r.decodeData(o.data()) }

func (r *resource) decodeData(data []byte) (runtime.Object, error) {
	obj, err := r.store.codec.decode(data)
	if err != nil {
		return nil, err
	}
	return convert(obj, r.store.codec.kind(), r.gvk)
}

// metadataItem is item in the shape of metadata.
func (r *resource) metadataItem(f format, o *object) ([]byte, error) {
	return r.metadataOf(f, o.data())
}

func (r *resource) metadataOf(f format, data []byte) ([]byte, error) {
	data, err := r.store.codec.metadata(data)
	if err != nil || f.media == mediaProtobuf {
		return data, err
	}
	var partial metav1.PartialObjectMetadata
	if err := partial.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("decode the metadata of one of the %s: %w", r.gvr.Resource, err)
	}
	partial.SetGroupVersionKind(r.kindIn(f))
	return json.Marshal(&partial)
}

// whole encodes an object that is written on its own.
func (r *resource) whole(f format, o *object) ([]byte, error) {
	item, err := r.item(f, o)
	if err != nil {
		return nil, err
	}
	return envelope(f.media, r.kindIn(f), item)
}

// wholeObject is whole for an object that is not in the store.
func (r *resource) wholeObject(f format, obj runtime.Object) ([]byte, error) {
	data, err := r.store.codec.encode(obj)
	if err != nil {
		return nil, err
	}
	return r.whole(f, &object{blob: plain(data)})
}

// envelope puts the kind around the bytes of an object.
func envelope(media mediaType, gvk schema.GroupVersionKind, item []byte) ([]byte, error) {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	if media == mediaProtobuf {
		b := make([]byte, 0, envelopeSize(apiVersion, kind, len(item)))
		b = appendEnvelopeHead(b, apiVersion, kind, len(item))
		b = append(b, item...)
		return append(b, envelopeTail...), nil
	}
	b := append(appendTyped(make([]byte, 0, len(item)+96), apiVersion, kind, item), '\n')
	if media == mediaYAML {
		return yaml.JSONToYAML(b)
	}
	return b, nil
}

// appendTyped appends the JSON of an object with its kind in front, unless
// the object says its kind itself.
func appendTyped(b []byte, apiVersion, kind string, item []byte) []byte {
	if hasTypeMeta(item) {
		return append(b, item...)
	}
	b = append(b, `{"kind":"`...)
	b = append(b, kind...)
	b = append(b, `","apiVersion":"`...)
	b = append(b, apiVersion...)
	b = append(b, '"')
	if len(item) > len("{}") {
		b = append(b, ',')
	}
	return append(b, item[1:]...)
}

// hasTypeMeta relies on encoders that write kind or apiVersion first.
func hasTypeMeta(item []byte) bool {
	const kind, version = `{"kind":`, `{"apiVersion":`
	return len(item) > len(version) && (string(item[:len(kind)]) == kind || string(item[:len(version)]) == version)
}

// encodeMeta encodes an object of the meta group on its own.
func encodeMeta(media mediaType, gvk schema.GroupVersionKind, obj runtime.Object) ([]byte, error) {
	item, err := encodeItem(media, obj)
	if err != nil {
		return nil, err
	}
	return envelope(media, gvk, item)
}

func encodeItem(media mediaType, obj runtime.Object) ([]byte, error) {
	if media != mediaProtobuf {
		return json.Marshal(obj)
	}
	message, ok := obj.(protoObject)
	if !ok {
		return nil, fmt.Errorf("encode %T: no protobuf form", obj)
	}
	return message.Marshal()
}

// watchFrame encodes one event of a watch.
func watchFrame(media mediaType, kind eventKind, gvk schema.GroupVersionKind, item []byte) []byte {
	return appendFrame(make([]byte, 0, 128+len(item)), media, kind, gvk, item)
}

// appendFrame is watchFrame into a buffer.
func appendFrame(b []byte, media mediaType, kind eventKind, gvk schema.GroupVersionKind, item []byte) []byte {
	apiVersion, name := gvk.ToAPIVersionAndKind()
	if media == mediaProtobuf {
		b = appendWatchHead(b, string(kind), apiVersion, name, len(item))
		b = append(b, item...)
		return append(b, envelopeTail...)
	}
	b = append(b, `{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","object":`...)
	b = appendTyped(b, apiVersion, name, item)
	return append(b, "}\n"...)
}
