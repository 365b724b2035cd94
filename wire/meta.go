package wire

import (
	"bytes"
	"slices"
)

// Label is one key and value of metadata.labels.
type Label struct{ Key, Value []byte }

// Owner is one of metadata.ownerReferences.
type Owner struct {
	APIVersion, Kind, Name, UID []byte
	Controller                  bool
}

// Meta is what kinform knows of an object without decoding it. Its slices alias
// the scanned bytes where they can (JSON escapes force a copy) and are valid as
// long as those; Scan reuses the memory of the last call. A field that the object
// does not have is empty. The zero Meta is ready for Scan.
type Meta struct {
	Namespace, Name, UID, ResourceVersion []byte
	Generation                            int64
	Labels                                []Label // each key once, in the order of the bytes
	Owner                                 Owner   // the first controlling owner, else the first owner, else zero
	Deleting                              bool    // metadata.deletionTimestamp is set, to a time that is not zero
	APIVersion, Kind                      []byte  // JSON only: the object's own, if it has them

	owners  int     // seen so far
	scratch []byte  // unquoted JSON strings
	order   []int32 // for finding duplicate labels
}

// Scan reads the metadata of the object raw, which for protobuf is the bare
// message, without envelope. After an error, a [SyntaxError], m holds nothing of use.
func (m *Meta) Scan(f Format, raw []byte) error {
	*m = Meta{Labels: m.Labels[:0], scratch: m.scratch[:0], order: m.order[:0]}
	var err error
	switch f {
	case JSON:
		err = m.scanJSON(raw)
	case Protobuf:
		err = m.scanProto(raw)
	default:
		err = unknownFormat(f)
	}
	if err != nil {
		return err
	}
	m.uniqueLabels()
	return nil
}

func unknownFormat(f Format) error {
	return &SyntaxError{Format: f, Msg: "the format must be JSON or Protobuf"}
}

// addOwner chooses between the owner found so far and the next one.
func (m *Meta) addOwner(o Owner) {
	if m.owners == 0 || o.Controller && !m.Owner.Controller {
		m.Owner = o
	}
	m.owners++
}

// uniqueLabels keeps the last of the labels with the same key. Servers write them
// sorted, and then one comparison for each shows that nothing is to be done.
func (m *Meta) uniqueLabels() {
	sorted := true
	for i := 1; i < len(m.Labels); i++ {
		if bytes.Compare(m.Labels[i-1].Key, m.Labels[i].Key) >= 0 {
			sorted = false
			break
		}
	}
	if sorted {
		return
	}
	for i := range m.Labels {
		m.order = append(m.order, int32(i))
	}
	slices.SortFunc(m.order, func(a, b int32) int {
		if c := bytes.Compare(m.Labels[a].Key, m.Labels[b].Key); c != 0 {
			return c
		}
		return int(a - b)
	})
	// A label with a nil key is one to drop: found keys are never nil.
	for i := 1; i < len(m.order); i++ {
		if a, b := m.order[i-1], m.order[i]; bytes.Equal(m.Labels[a].Key, m.Labels[b].Key) {
			m.Labels[a].Key = nil
		}
	}
	m.Labels = slices.DeleteFunc(m.Labels, func(l Label) bool { return l.Key == nil })
}

// Metadata returns the bytes of the object's metadata, a part of raw: the
// ObjectMeta message or the JSON object; nil if it has none. An object with more
// than one is an error, as no one part of raw is its metadata.
func Metadata(f Format, raw []byte) ([]byte, error) {
	switch f {
	case JSON:
		return metadataJSON(raw)
	case Protobuf:
		return metadataProto(raw)
	default:
		return nil, unknownFormat(f)
	}
}

// DropManagedFields appends raw without metadata.managedFields to dst and returns
// the extended slice. Everything else stays byte for byte, but for the length of
// the metadata in protobuf. dst must not overlap raw. After an error dst is
// returned as it was.
func DropManagedFields(dst []byte, f Format, raw []byte) ([]byte, error) {
	switch f {
	case JSON:
		return dropManagedJSON(dst, raw)
	case Protobuf:
		return dropManagedProto(dst, raw)
	default:
		return dst, unknownFormat(f)
	}
}

const twoMetadata = "the object has metadata twice"

func metadataJSON(raw []byte) ([]byte, error) {
	var metadata []byte
	s := scanner{data: raw}
	if !s.open('{') {
		s.fail(s.i, "not a JSON object")
	}
	for key, ok := s.member(true); ok; key, ok = s.member(false) {
		start := s.i
		s.pass()
		if string(key) != "metadata" || s.msg != "" {
			continue
		}
		switch value := raw[start:s.i:s.i]; {
		case string(value) == "null":
		case value[0] != '{':
			s.fail(start, "metadata is not an object")
		case metadata != nil:
			s.fail(start, twoMetadata)
		default:
			metadata = value
		}
	}
	s.end()
	if err := s.err(0); err != nil {
		return nil, err
	}
	return metadata, nil
}

func metadataProto(raw []byte) ([]byte, error) {
	var metadata []byte
	for i := 0; i < len(raw); {
		f, next := readField(raw, i)
		if next < 0 {
			return nil, badField(i, "the object")
		}
		if f.num == fieldMetadata {
			if metadata != nil {
				return nil, protoError(i, twoMetadata)
			}
			if err := f.text(&metadata, raw, i, next, 0); err != nil {
				return nil, err
			}
		}
		i = next
	}
	return metadata, nil
}
