package unmarshal

// container is what is known of an array or an object of a document before it is read.
type container struct {
	count int32 // of elements or entries
	end   int32 // where in the document it ends
	next  int32 // the container that follows those inside it
}

// survey checks the syntax of a document and notes its arrays and objects, in the order
// in which they begin. So slices and maps are made as large as they have to be, and what
// nobody wants is skipped at once.
func (d *decoder) survey(doc []byte) error {
	d.doc, d.containers, d.at = doc, d.containers[:0], 0
	rest, err := d.surveyValue(space(doc), 0)
	if err != nil || len(space(rest)) > 0 {
		return errOdd
	}
	return nil
}

// surveyValue returns what follows a value.
func (d *decoder) surveyValue(b []byte, depth int) (rest []byte, err error) {
	if len(b) == 0 || depth > deepest {
		return nil, errOdd
	}
	switch b[0] {
	case '{', '[':
		return d.surveyPart(b, depth)
	case '"':
		_, rest, err = d.quoted(b)
		return rest, err
	case 't':
		_, rest, err = literal(b, "true", nil)
	case 'f':
		_, rest, err = literal(b, "false", nil)
	case 'n':
		_, rest, err = literal(b, "null", nil)
	default:
		n, _ := numeral(b)
		if n == 0 {
			return nil, errOdd
		}
		rest = b[n:]
	}
	return rest, err
}

func (d *decoder) surveyPart(b []byte, depth int) (rest []byte, err error) {
	object, closing := b[0] == '{', b[0]+2 // in ASCII, both pairs are two apart
	at, count := len(d.containers), int32(0)
	d.containers = append(d.containers, container{})
	b = space(b[1:])
	for count > 0 || len(b) == 0 || b[0] != closing {
		if object {
			if len(b) == 0 || b[0] != '"' {
				return nil, errOdd
			}
			if _, b, err = d.quoted(b); err != nil {
				return nil, err
			}
			if b = space(b); len(b) == 0 || b[0] != ':' {
				return nil, errOdd
			}
			b = space(b[1:])
		}
		if b, err = d.surveyValue(b, depth+1); err != nil {
			return nil, err
		}
		count++
		if b = space(b); len(b) == 0 {
			return nil, errOdd
		}
		if b[0] == closing {
			break
		}
		if b[0] != ',' {
			return nil, errOdd
		}
		b = space(b[1:])
	}
	rest = b[1:]
	d.containers[at] = container{count, int32(len(d.doc) - len(rest)), int32(len(d.containers))}
	return rest, nil
}

// enter returns the container that begins here, whose elements are read next.
func (d *decoder) enter() container {
	p := d.containers[d.at]
	d.at++
	return p
}

// skip returns what follows a value that is not read.
func (d *decoder) skip(b []byte) (rest []byte, err error) {
	if b[0] != '{' && b[0] != '[' {
		return d.surveyValue(b, 0)
	}
	p := d.containers[d.at]
	d.at = int(p.next)
	return d.doc[p.end:], nil
}
