package wire

import "strconv"

// The wire types of protobuf.
const (
	wireVarint = 0
	wireFixed8 = 1
	wireBytes  = 2
	wireGroup  = 3
	wireEnd    = 4
	wireFixed4 = 5
)

// field is one field of a message. The value of a wireBytes field ends where the
// field does.
type field struct {
	num   int32
	wire  uint8
	value int    // index of the value, after the tag and the length
	n     uint64 // the value of a wireVarint field
}

// bytes returns the value of a wireBytes field of data that ends at end.
func (f *field) bytes(data []byte, end int) []byte { return data[f.value:end:end] }

// readField reads the field of data at i and returns the index after it, or -1 if
// it is malformed. It is as lenient as the decoders that gogo generates: the number
// is cut to 32 bits, and the ends of groups need not match their starts.
func readField(data []byte, i int) (f field, next int) {
	if i+1 < len(data) {
		// Nearly all fields have one byte of tag and one of length.
		tag, size := data[i], int(data[i+1])
		if next = i + 2 + size; tag >= 1<<3 && tag < 0x80 && tag&7 == wireBytes && size < 0x80 && next <= len(data) {
			return field{num: int32(tag >> 3), wire: wireBytes, value: i + 2}, next
		}
	}
	tag, i := uvarint(data, i)
	if i < 0 {
		return f, -1
	}
	f.num, f.wire = int32(tag>>3), uint8(tag&7)
	if f.num <= 0 {
		return f, -1
	}
	f.value = i
	switch f.wire {
	case wireVarint:
		f.n, i = uvarint(data, i)
		return f, i
	case wireBytes:
		size, i := uvarint(data, i)
		if i < 0 || size > uint64(len(data)-i) {
			return f, -1
		}
		f.value = i
		return f, i + int(size)
	default:
		return f, skipValue(data, i, f.wire)
	}
}

// skipValue returns the index after the value at i of a field of the given wire
// type, or -1.
func skipValue(data []byte, i int, wire uint8) int {
	for depth := 0; ; {
		switch wire {
		case wireVarint:
			_, i = uvarint(data, i)
		case wireFixed8:
			i = skipBytes(data, i, 8)
		case wireFixed4:
			i = skipBytes(data, i, 4)
		case wireBytes:
			var size uint64
			if size, i = uvarint(data, i); i >= 0 {
				i = skipBytes(data, i, size)
			}
		case wireGroup:
			depth++
		case wireEnd:
			if depth--; depth < 0 {
				return -1
			}
		default:
			return -1
		}
		if i < 0 || depth == 0 {
			return i
		}
		var tag uint64
		if tag, i = uvarint(data, i); i < 0 {
			return -1
		}
		wire = uint8(tag & 7)
	}
}

func skipBytes(data []byte, i int, n uint64) int {
	if n > uint64(len(data)-i) {
		return -1
	}
	return i + int(n)
}

// uvarint reads the number at i and returns the index after it, or -1.
func uvarint(data []byte, i int) (uint64, int) {
	if i < len(data) && data[i] < 0x80 {
		return uint64(data[i]), i + 1
	}
	return longUvarint(data, i)
}

// longUvarint drops what exceeds 64 bits in the tenth byte, like gogo's decoders.
func longUvarint(data []byte, i int) (uint64, int) {
	var n uint64
	for shift := 0; shift < 64 && i < len(data); shift += 7 {
		c := data[i]
		i++
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return n, i
		}
	}
	return 0, -1
}

// appendUvarint appends n to dst as protobuf writes it.
func appendUvarint(dst []byte, n uint64) []byte {
	for n >= 0x80 {
		dst = append(dst, byte(n)|0x80)
		n >>= 7
	}
	return append(dst, byte(n))
}

func protoError(offset int, msg string) error {
	return &SyntaxError{Format: Protobuf, Offset: int64(offset), Msg: msg}
}

// badField says that the field at offset of what is malformed or cut short.
func badField(offset int, what string) error {
	return protoError(offset, "malformed or cut field in "+what)
}

// want checks the wire type of a field that starts at offset.
func (f *field) want(wire uint8, offset int) error {
	if f.wire == wire {
		return nil
	}
	return protoError(offset, "field "+strconv.Itoa(int(f.num))+" has the wrong wire type "+strconv.Itoa(int(f.wire)))
}

// text sets dst to the value of a wireBytes field data[start:end]; base is where
// data lies in the whole.
func (f *field) text(dst *[]byte, data []byte, start, end, base int) error {
	if f.wire != wireBytes {
		return f.want(wireBytes, base+start)
	}
	*dst = data[f.value:end:end]
	return nil
}
