package wire

// The numbers of the fields that are read here, from apimachinery's
// meta/v1 and runtime generated.proto. In each top-level type, metadata is 1.
const (
	fieldMetadata = 1

	metaName              = 1
	metaNamespace         = 3
	metaUID               = 5
	metaResourceVersion   = 6
	metaGeneration        = 7
	metaDeletionTimestamp = 9
	metaLabels            = 11
	metaOwnerReferences   = 13
	metaManagedFields     = 17

	ownerKind       = 1
	ownerName       = 3
	ownerUID        = 4
	ownerAPIVersion = 5
	ownerController = 6

	entryKey   = 1
	entryValue = 2

	timeSeconds = 1
)

// zeroTime is the time.Time zero, in seconds since 1970.
const zeroTime = -62135596800

// scanProto fills m, which is reset, from a message with metadata.
func (m *Meta) scanProto(raw []byte) error {
	for i := 0; i < len(raw); {
		f, next := readField(raw, i)
		if next < 0 {
			return badField(i, "the object")
		}
		if f.num == fieldMetadata {
			if err := f.want(wireBytes, i); err != nil {
				return err
			}
			if err := m.protoMetadata(f.bytes(raw, next), f.value); err != nil {
				return err
			}
		}
		i = next
	}
	return nil
}

// protoMetadata fills m from the ObjectMeta data, which lies at base in the object.
func (m *Meta) protoMetadata(data []byte, base int) error {
	for i := 0; i < len(data); {
		f, next := readField(data, i)
		if next < 0 {
			return badField(base+i, "metadata")
		}
		var err error
		switch f.num {
		case metaName:
			err = f.text(&m.Name, data, i, next, base)
		case metaNamespace:
			err = f.text(&m.Namespace, data, i, next, base)
		case metaUID:
			err = f.text(&m.UID, data, i, next, base)
		case metaResourceVersion:
			err = f.text(&m.ResourceVersion, data, i, next, base)
		case metaGeneration:
			m.Generation, err = int64(f.n), f.want(wireVarint, base+i)
		case metaDeletionTimestamp, metaLabels, metaOwnerReferences:
			if err = f.want(wireBytes, base+i); err == nil {
				err = m.protoNested(f, data, next, base)
			}
		}
		if err != nil {
			return err
		}
		i = next
	}
	return nil
}

// protoNested reads the field f, a message, which ends at end in data.
func (m *Meta) protoNested(f field, data []byte, end, base int) (err error) {
	switch f.num {
	case metaLabels:
		return m.protoLabel(data, f.value, end, base)
	case metaOwnerReferences:
		return m.protoOwner(f.bytes(data, end), base+f.value)
	default:
		m.Deleting, err = protoTime(f.bytes(data, end), base+f.value)
		return err
	}
}

// protoLabel reads the map entry data[i:end]. Like gogo's decoders it lets a key
// or value run over the end of the entry, up to the end of the metadata, and does
// not look at the wire types of the two.
func (m *Meta) protoLabel(data []byte, i, end, base int) error {
	label := Label{Key: data[i:i:i], Value: data[i:i:i]}
	for i < end {
		tag, value := uvarint(data, i)
		if value < 0 {
			return badField(base+i, "a label")
		}
		num := int32(tag >> 3)
		if num != entryKey && num != entryValue {
			if value > end {
				return badField(base+i, "a label")
			}
			if i = skipValue(data[:end], value, uint8(tag&7)); i < 0 {
				return badField(base+value, "a label")
			}
			continue
		}
		size, value := uvarint(data, value)
		if value < 0 || size > uint64(len(data)-value) {
			return badField(base+i, "a label")
		}
		i = value + int(size)
		if num == entryKey {
			label.Key = data[value:i:i]
		} else {
			label.Value = data[value:i:i]
		}
	}
	m.Labels = append(m.Labels, label)
	return nil
}

func (m *Meta) protoOwner(data []byte, base int) error {
	var o Owner
	for i := 0; i < len(data); {
		f, next := readField(data, i)
		if next < 0 {
			return badField(base+i, "an owner reference")
		}
		var err error
		switch f.num {
		case ownerKind:
			err = f.text(&o.Kind, data, i, next, base)
		case ownerName:
			err = f.text(&o.Name, data, i, next, base)
		case ownerUID:
			err = f.text(&o.UID, data, i, next, base)
		case ownerAPIVersion:
			err = f.text(&o.APIVersion, data, i, next, base)
		case ownerController:
			o.Controller, err = f.n != 0, f.want(wireVarint, base+i)
		}
		if err != nil {
			return err
		}
		i = next
	}
	m.addOwner(o)
	return nil
}

// protoTime reports whether the Timestamp data is a time that is not zero. An
// empty message is the zero time.
func protoTime(data []byte, base int) (bool, error) {
	if len(data) == 0 {
		return false, nil
	}
	seconds := int64(0)
	for i := 0; i < len(data); {
		f, next := readField(data, i)
		if next < 0 {
			return false, badField(base+i, "deletionTimestamp")
		}
		if f.num == timeSeconds {
			if err := f.want(wireVarint, base+i); err != nil {
				return false, err
			}
			seconds = int64(f.n)
		}
		i = next
	}
	return seconds != zeroTime, nil
}
