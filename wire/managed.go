package wire

func dropManagedProto(dst, raw []byte) ([]byte, error) {
	from, done := len(dst), 0
	for i := 0; i < len(raw); {
		f, next := readField(raw, i)
		if next < 0 {
			return dst[:from], badField(i, "the object")
		}
		if f.num == fieldMetadata {
			if err := f.want(wireBytes, i); err != nil {
				return dst[:from], err
			}
			managed, err := managedSize(f.bytes(raw, next), f.value)
			if err != nil {
				return dst[:from], err
			}
			if managed > 0 {
				size := uint64(next - f.value - managed)
				// The tag stays as it is; before the value stands its length.
				_, tagEnd := uvarint(raw, i)
				dst = append(dst, raw[done:tagEnd]...)
				dst = appendUvarint(dst, size)
				dst = appendUnmanaged(dst, f.bytes(raw, next))
				done = next
			}
		}
		i = next
	}
	return append(dst, raw[done:]...), nil
}

// managedSize returns how many bytes the managedFields take in the ObjectMeta
// metadata, which lies at base in the object.
func managedSize(metadata []byte, base int) (size int, err error) {
	for i := 0; i < len(metadata); {
		f, next := readField(metadata, i)
		if next < 0 {
			return 0, badField(base+i, "metadata")
		}
		if f.num == metaManagedFields {
			size += next - i
		}
		i = next
	}
	return size, nil
}

func appendUnmanaged(dst, metadata []byte) []byte {
	done := 0
	for i := 0; i < len(metadata); {
		f, next := readField(metadata, i)
		if f.num == metaManagedFields {
			dst = append(dst, metadata[done:i]...)
			done = next
		}
		i = next
	}
	return append(dst, metadata[done:]...)
}

func dropManagedJSON(dst, raw []byte) ([]byte, error) {
	c := cutter{scanner: scanner{data: raw}, dst: dst}
	if !c.open('{') {
		c.fail(c.i, "not a JSON object")
	}
	for key, ok := c.member(true); ok; key, ok = c.member(false) {
		if string(key) == "metadata" && c.i < len(raw) && raw[c.i] == '{' {
			c.metadata()
		} else {
			c.pass()
		}
	}
	c.end()
	if err := c.err(0); err != nil {
		return dst, err
	}
	return append(c.dst, raw[c.done:]...), nil
}

// cutter copies a JSON object to dst and leaves out parts.
type cutter struct {
	scanner
	dst  []byte
	done int // data[:done] is in dst, or was left out
}

// metadata cuts managedFields out of the object at i. With the member goes one
// comma: the one before it, or, where no member is left before it, the one after.
func (c *cutter) metadata() {
	c.open('{')
	var (
		kept    = -1 // end of the last member that stays
		pending = -1 // start of a cut that reaches up to the next member
	)
	for first := true; ; first = false {
		key, start, ok := c.memberStart(first)
		if !ok {
			break
		}
		if pending >= 0 {
			c.cut(pending, start)
			pending = -1
		}
		c.pass()
		switch {
		case string(key) != "managedFields":
			kept = c.i
		case kept >= 0:
			c.cut(kept, c.i)
			kept = c.i
		default:
			pending = start
		}
	}
	if pending >= 0 {
		c.cut(pending, c.i-1)
	}
}

// memberStart is member, and returns where the key starts too.
func (c *cutter) memberStart(first bool) (key []byte, start int, ok bool) {
	if !c.next(first, '}') {
		return nil, 0, false
	}
	c.space()
	start = c.i
	key, ok = c.key()
	return key, start, ok
}

func (c *cutter) cut(from, to int) {
	if c.msg == "" {
		c.dst = append(c.dst, c.data[c.done:from]...)
		c.done = to
	}
}
