package wire

import "time"

// scanJSON fills m, which is reset, from a JSON object.
func (m *Meta) scanJSON(raw []byte) error {
	s := scanner{data: raw, scratch: m.scratch[:0]}
	if !s.open('{') {
		s.fail(s.i, "not a JSON object")
	}
	for key, ok := s.member(true); ok; key, ok = s.member(false) {
		switch string(key) {
		case "metadata":
			m.jsonMetadata(&s)
		case "apiVersion":
			s.str(&m.APIVersion, "apiVersion")
		case "kind":
			s.str(&m.Kind, "kind")
		default:
			s.skip(1)
		}
	}
	s.end()
	m.scratch = s.scratch
	return s.err(0)
}

func (m *Meta) jsonMetadata(s *scanner) {
	if !s.open('{') {
		s.nullOr("metadata is not an object")
		return
	}
	for key, ok := s.member(true); ok; key, ok = s.member(false) {
		switch string(key) {
		case "name":
			s.str(&m.Name, "metadata.name")
		case "namespace":
			s.str(&m.Namespace, "metadata.namespace")
		case "uid":
			s.str(&m.UID, "metadata.uid")
		case "resourceVersion":
			s.str(&m.ResourceVersion, "metadata.resourceVersion")
		case "generation":
			s.integer(&m.Generation, "metadata.generation")
		case "deletionTimestamp":
			m.Deleting = s.timestamp("metadata.deletionTimestamp")
		case "labels":
			m.jsonLabels(s)
		case "ownerReferences":
			m.jsonOwners(s)
		default:
			s.skip(2)
		}
	}
}

func (s *scanner) nullOr(msg string) {
	if s.space() == 'n' {
		s.literal("null")
	} else {
		s.fail(s.i, msg)
	}
}

// timestamp reports whether the string at i is a time that is not zero. Other
// strings are no times: the typed decoders refuse them, and to the unstructured
// one the field is not set.
func (s *scanner) timestamp(what string) bool {
	var text []byte
	s.str(&text, what)
	if len(text) == 0 {
		return false
	}
	t, err := time.Parse(time.RFC3339, string(text))
	return err == nil && !t.IsZero()
}

func (m *Meta) jsonLabels(s *scanner) {
	if !s.open('{') {
		m.Labels = m.Labels[:0]
		s.nullOr("metadata.labels is not an object")
		return
	}
	for key, ok := s.member(true); ok; key, ok = s.member(false) {
		label := Label{Key: key}
		s.str(&label.Value, "a value of metadata.labels")
		m.Labels = append(m.Labels, label)
	}
}

func (m *Meta) jsonOwners(s *scanner) {
	m.Owner, m.owners = Owner{}, 0
	if !s.open('[') {
		s.nullOr("metadata.ownerReferences is not an array")
		return
	}
	for first := true; s.element(first); first = false {
		m.addOwner(s.owner())
	}
}

func (s *scanner) owner() (o Owner) {
	if !s.open('{') {
		s.nullOr("an element of metadata.ownerReferences is not an object")
		return o
	}
	for key, ok := s.member(true); ok; key, ok = s.member(false) {
		switch string(key) {
		case "apiVersion":
			s.str(&o.APIVersion, "apiVersion of an owner")
		case "kind":
			s.str(&o.Kind, "kind of an owner")
		case "name":
			s.str(&o.Name, "name of an owner")
		case "uid":
			s.str(&o.UID, "uid of an owner")
		case "controller":
			s.boolean(&o.Controller, "controller of an owner")
		default:
			s.skip(4)
		}
	}
	return o
}
