package apisim

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// The protobuf layout that all kinds of the API share.
const (
	objectMetaField = 1 // metadata, in every object and every list
	listItemsField  = 2 // items, in every list

	metaResourceVersionField = 6
	metaLabelsField          = 11
)

// protoMagic starts a protobuf object that is not inside another one.
const protoMagic = "k8s\x00"

// protoField returns the last value of a length-delimited field of message,
// or nil if it is not there. The result shares memory with message.
func protoField(message []byte, field protowire.Number) []byte {
	var found []byte
	for number, value := range protoFields(message) {
		if number == field {
			found = value
		}
	}
	return found
}

// protoFields goes over the fields of a message: the content of
// length-delimited ones, the raw varint of the others. It stops at the first
// byte that is no protobuf.
func protoFields(message []byte) func(yield func(protowire.Number, []byte) bool) {
	return func(yield func(protowire.Number, []byte) bool) {
		for len(message) > 0 {
			number, kind, n := protowire.ConsumeTag(message)
			if n < 0 {
				return
			}
			message = message[n:]
			size := protowire.ConsumeFieldValue(number, kind, message)
			if size < 0 {
				return
			}
			value := message[:size]
			if kind == protowire.BytesType {
				value, _ = protowire.ConsumeBytes(message)
			}
			if !yield(number, value) {
				return
			}
			message = message[size:]
		}
	}
}

// protoPath follows a path of message fields to the value at its end.
func protoPath(message []byte, path ...protowire.Number) []byte {
	for _, field := range path {
		if message = protoField(message, field); message == nil {
			return nil
		}
	}
	return message
}

// protoVarint reads the varint that protoField gave for a number or a bool.
func protoVarint(value []byte) uint64 {
	v, n := protowire.ConsumeVarint(value)
	if n < 0 {
		return 0
	}
	return v
}

// protoMap reads the entries of a map<string, string>.
func protoMap(message []byte, field protowire.Number) map[string]string {
	var out map[string]string
	for number, entry := range protoFields(message) {
		if number != field {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[string(protoField(entry, 1))] = string(protoField(entry, 2))
	}
	return out
}

// withResourceVersion returns a copy of an encoded object with another
// resource version in its metadata.
func withResourceVersion(object []byte, version uint64) []byte {
	meta := make([]byte, 0, 512)
	text := strconv.FormatUint(version, 10)
	rest := protoField(object, objectMetaField)
	for len(rest) > 0 {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			break
		}
		if number != metaResourceVersionField {
			meta = append(meta, rest[:n]...)
		} else {
			meta = protowire.AppendTag(meta, metaResourceVersionField, protowire.BytesType)
			meta = protowire.AppendString(meta, text)
		}
		rest = rest[n:]
	}
	out := make([]byte, 0, len(object)+len(text))
	out = protowire.AppendTag(out, objectMetaField, protowire.BytesType)
	out = protowire.AppendBytes(out, meta)
	for len(object) > 0 {
		number, _, n := protowire.ConsumeField(object)
		if n < 0 {
			break
		}
		if number != objectMetaField {
			out = append(out, object[:n]...)
		}
		object = object[n:]
	}
	return out
}

// appendEnvelopeHead appends what stands before the bytes of an object of
// size n that is written on its own: the magic, the type, and the tag and
// length of the object.
func appendEnvelopeHead(b []byte, apiVersion, kind string, n int) []byte {
	b = append(b, protoMagic...)
	return appendUnknownHead(b, apiVersion, kind, n)
}

func appendUnknownHead(b []byte, apiVersion, kind string, n int) []byte {
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(stringFieldSize(apiVersion)+stringFieldSize(kind)))
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendString(b, apiVersion)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	b = protowire.AppendString(b, kind)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	return protowire.AppendVarint(b, uint64(n))
}

// envelopeTail stands after the bytes of an object: an empty content encoding
// and an empty content type.
const envelopeTail = "\x1a\x00\x22\x00"

func stringFieldSize(s string) int { return 1 + protowire.SizeBytes(len(s)) }

// envelopeSize is the length of an object of size n written on its own.
func envelopeSize(apiVersion, kind string, n int) int {
	types := stringFieldSize(apiVersion) + stringFieldSize(kind)
	return len(protoMagic) + 1 + protowire.SizeBytes(types) + 1 + protowire.SizeBytes(n) + len(envelopeTail)
}

// appendWatchHead appends what stands before the bytes of an object of size n
// in a frame of a protobuf watch: the length of the frame, the event's type,
// the tags and lengths down to the object's envelope, and its head.
func appendWatchHead(b []byte, event, apiVersion, kind string, n int) []byte {
	whole := envelopeSize(apiVersion, kind, n)
	raw := 1 + protowire.SizeBytes(whole)
	frame := stringFieldSize(event) + 1 + protowire.SizeBytes(raw)
	b = append(b, byte(frame>>24), byte(frame>>16), byte(frame>>8), byte(frame))
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendString(b, event)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(raw))
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(whole))
	return appendEnvelopeHead(b, apiVersion, kind, n)
}
