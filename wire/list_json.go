package wire

import "io"

func (l *ListReader) jsonStart() error {
	l.format = JSON
	c, err := l.src.skipSpace()
	if err != nil {
		return l.src.broken("a list", err)
	}
	if c != '{' {
		return &SyntaxError{Format: JSON, Offset: l.src.offset, Msg: "not a Kubernetes list, the body starts with " + excerpt(l.src.window())}
	}
	l.src.consume(1)
	l.state, l.first = jsonMembers, true
	return nil
}

// jsonNext passes what stands before a member or an item: nothing before the first,
// a comma before the others. It reports false, and passes the closing bracket,
// where there is no further one.
func (l *ListReader) jsonNext(closing byte) (bool, error) {
	c, err := l.jsonByte()
	switch {
	case err != nil:
		return false, err
	case c == closing:
		l.src.consume(1)
		return false, nil
	case l.first:
		l.first = false
		return true, nil
	case c != ',':
		return false, l.jsonError(badAfter)
	}
	l.src.consume(1)
	return true, nil
}

// jsonByte returns the next byte that is not white space, without consuming it.
func (l *ListReader) jsonByte() (byte, error) {
	c, err := l.src.skipSpace()
	if err != nil {
		return 0, l.src.broken("a list", err)
	}
	return c, nil
}

func (l *ListReader) jsonError(msg string) error {
	return &SyntaxError{Format: JSON, Offset: l.src.offset, Msg: msg}
}

// jsonMember reads one member of the list object, or goes into its items.
func (l *ListReader) jsonMember() error {
	if ok, err := l.jsonNext('}'); err != nil || !ok {
		l.state = jsonTail
		return err
	}
	key, err := l.jsonKey()
	if err != nil {
		return err
	}
	if string(key) == "items" {
		return l.jsonItemsStart()
	}
	return l.jsonValue(string(key))
}

// jsonKey consumes a key and its colon.
func (l *ListReader) jsonKey() ([]byte, error) {
	if c, err := l.jsonByte(); err != nil {
		return nil, err
	} else if c != '"' {
		return nil, l.jsonError("a key must be a string")
	}
	at := l.src.offset
	raw, err := l.src.frame(new(framer), l.envelopeLimit(), "list key")
	if err != nil {
		return nil, err
	}
	s := scanner{data: raw}
	key, _ := s.text()
	if err := s.err(at); err != nil {
		return nil, err
	}
	// Looking for the colon may move the buffer that key lies in.
	key = append([]byte(nil), key...)
	if c, err := l.jsonByte(); err != nil {
		return nil, err
	} else if c != ':' {
		return nil, l.jsonError("a key must be followed by ':'")
	}
	l.src.consume(1)
	return key, nil
}

// jsonValue reads the value of a member that is not the items.
func (l *ListReader) jsonValue(key string) error {
	if _, err := l.jsonByte(); err != nil {
		return err
	}
	at := l.src.offset
	raw, err := l.src.frame(new(framer), l.envelopeLimit(), "list member")
	if err != nil {
		return err
	}
	s := scanner{data: raw}
	switch key {
	case "kind":
		s.goString(&l.meta.Kind, key)
	case "apiVersion":
		s.goString(&l.meta.APIVersion, key)
	case "metadata":
		l.jsonMeta(&s)
	case "message":
		if s.space() == '"' {
			s.goString(&l.status, key)
			break
		}
		fallthrough
	default:
		s.skip(1)
	}
	s.end()
	if err := s.err(at); err != nil {
		return err
	}
	if l.meta.Kind == "Table" {
		return l.notAList("the server was asked for a table, with an Accept header that names one")
	}
	return nil
}

// goString is str for a Go string.
func (s *scanner) goString(dst *string, what string) {
	var text []byte
	if s.str(&text, what); text != nil {
		*dst = string(text)
	}
}

func (l *ListReader) jsonMeta(s *scanner) {
	if !s.open('{') {
		s.nullOr("metadata is not an object")
		return
	}
	for key, ok := s.member(true); ok; key, ok = s.member(false) {
		switch string(key) {
		case "resourceVersion":
			s.goString(&l.meta.ResourceVersion, "metadata.resourceVersion")
		case "continue":
			s.goString(&l.meta.Continue, "metadata.continue")
		case "remainingItemCount":
			if !s.integer(&l.meta.Remaining, "metadata.remainingItemCount") {
				l.meta.Remaining = -1
			}
		default:
			s.skip(2)
		}
	}
}

func (l *ListReader) jsonItemsStart() error {
	if l.itemsSeen {
		return l.jsonError("the list has items twice")
	}
	l.itemsSeen = true
	c, err := l.jsonByte()
	switch {
	case err != nil:
		return err
	case c == '[':
		l.src.consume(1)
		l.state, l.first = jsonItems, true
		return nil
	case c == 'n':
		return l.jsonValue("items")
	default:
		return l.jsonError("items is not an array")
	}
}

// jsonItem returns the next item, or leaves the items.
func (l *ListReader) jsonItem() ([]byte, error) {
	if ok, err := l.jsonNext(']'); err != nil || !ok {
		l.state, l.first = jsonMembers, false
		return nil, err
	}
	if c, err := l.jsonByte(); err != nil {
		return nil, err
	} else if c != '{' {
		return nil, l.jsonError("an item is not an object")
	}
	return l.src.frame(new(framer), l.limits.Frame, "list item")
}

// jsonEnd requires that the body ends after the list.
func (l *ListReader) jsonEnd() error {
	_, err := l.src.skipSpace()
	switch {
	case err == nil:
		return l.jsonError("data after the end of the list")
	case err != io.EOF:
		return l.src.broken("the end of a list", err)
	case !l.itemsSeen && !looksLikeList(l.meta.Kind):
		return l.notAList(l.status)
	default:
		return io.EOF
	}
}
