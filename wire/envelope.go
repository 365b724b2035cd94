package wire

// Envelope is an opened runtime.Unknown, which wraps each protobuf object that
// does not stand in a list. Its slices alias the bytes it was opened from.
type Envelope struct {
	APIVersion, Kind             []byte
	Raw                          []byte // the object's bare message
	ContentType, ContentEncoding []byte
}

// envelopePrefix starts each protobuf body and each object in a protobuf watch.
const envelopePrefix = "k8s\x00"

const (
	unknownTypeMeta        = 1
	unknownRaw             = 2
	unknownContentEncoding = 3
	unknownContentType     = 4

	typeMetaAPIVersion = 1
	typeMetaKind       = 2
)

// OpenEnvelope opens data, which starts with "k8s\x00". A [SyntaxError] says why it
// cannot.
func OpenEnvelope(data []byte) (Envelope, error) {
	var e Envelope
	if len(data) < len(envelopePrefix) || string(data[:len(envelopePrefix)]) != envelopePrefix {
		return e, protoError(0, `no "k8s\x00" before the object`)
	}
	if len(data) == len(envelopePrefix) {
		return e, protoError(len(data), "the envelope is empty")
	}
	for i := len(envelopePrefix); i < len(data); {
		f, next := readField(data, i)
		if next < 0 {
			return Envelope{}, badField(i, "the envelope")
		}
		var err error
		switch f.num {
		case unknownTypeMeta:
			if err = f.want(wireBytes, i); err == nil {
				err = e.typeMeta(f.bytes(data, next), f.value)
			}
		case unknownRaw:
			err = f.text(&e.Raw, data, i, next, 0)
		case unknownContentEncoding:
			err = f.text(&e.ContentEncoding, data, i, next, 0)
		case unknownContentType:
			err = f.text(&e.ContentType, data, i, next, 0)
		}
		if err != nil {
			return Envelope{}, err
		}
		i = next
	}
	return e, nil
}

// typeMeta reads the runtime.TypeMeta data, which lies at base.
func (e *Envelope) typeMeta(data []byte, base int) error {
	for i := 0; i < len(data); {
		f, next := readField(data, i)
		if next < 0 {
			return badField(base+i, "the envelope's type")
		}
		var err error
		switch f.num {
		case typeMetaAPIVersion:
			err = f.text(&e.APIVersion, data, i, next, base)
		case typeMetaKind:
			err = f.text(&e.Kind, data, i, next, base)
		}
		if err != nil {
			return err
		}
		i = next
	}
	return nil
}
