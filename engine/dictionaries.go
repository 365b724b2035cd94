package engine

import (
	"container/list"
	"sync"
	"weak"

	"github.com/klauspost/compress/s2"
)

// dictionaries keeps the dictionaries that were used last: a record's bytes,
// unpacked, and the tables for packing against them, which weigh more than the
// record. Objects come in groups, so that few are enough.
type dictionaries struct {
	mu    sync.Mutex
	byUse list.List // of *dictionary, the last used first
	known map[weak.Pointer[Record]]*list.Element
}

// dictionary has the bytes of a record, and lets it go with its slab.
type dictionary struct {
	of weak.Pointer[Record]
	*s2.Dict
}

const keepDictionaries = 64

// dictionaryTail is room that s2 wants behind a dictionary, or it copies it.
const dictionaryTail = 16

// recent serves all collections of the process: what it may weigh together is
// bounded, however many there are.
var recent dictionaries

// of returns the dictionary of a record.
func (d *dictionaries) of(r *Record) *s2.Dict {
	of := weak.Make(r)
	d.mu.Lock()
	if e := d.known[of]; e != nil {
		d.byUse.MoveToFront(e)
		d.mu.Unlock()
		return e.Value.(*dictionary).Dict
	}
	d.mu.Unlock()
	made := s2.MakeDict(r.AppendBytes(make([]byte, 0, int(r.rawLen)+dictionaryTail)), nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.known[of]; e != nil {
		return e.Value.(*dictionary).Dict
	}
	if d.known == nil {
		d.known = map[weak.Pointer[Record]]*list.Element{}
	}
	d.known[of] = d.byUse.PushFront(&dictionary{of, made})
	if d.byUse.Len() > keepDictionaries {
		last := d.byUse.Remove(d.byUse.Back()).(*dictionary)
		delete(d.known, last.of)
	}
	return made
}
