package packed

import (
	"container/list"
	"runtime"
	"sync"
	"unsafe"
	"weak"

	"github.com/klauspost/compress/s2"
)

// dictionaries keeps the dictionaries that were used last: the bytes of a parent,
// and the tables for packing against them. Each weighs at most about 300 KB, as a
// dictionary is at most 64 KB long. Objects come in groups, so few are enough.
type dictionaries struct {
	mu    sync.Mutex
	byUse list.List // of *dictionary, the last used first
	known map[weak.Pointer[Bytes]]*list.Element
}

// dictionary has the bytes of a parent, and does not keep it alive.
type dictionary struct {
	of weak.Pointer[Bytes]
	*s2.Dict
}

const (
	// shards is how many parts the dictionaries are in, so that readers on many cores
	// do not wait for one lock.
	shards = 8
	// perShard is how many dictionaries a shard keeps.
	perShard = 8
	// dictionaryTail is room that s2 needs after a dictionary, or it copies it.
	dictionaryTail = 16
)

// recent is shared by the whole process, so that its weight is bounded.
var recent [shards]dictionaries

// dictionaryOf returns the dictionary of a parent.
func dictionaryOf(b *Bytes) *s2.Dict {
	// Addresses are multiples of the size class; only the bits above it differ.
	return recent[uintptr(unsafe.Pointer(b))>>5%shards].of(b)
}

func (d *dictionaries) of(b *Bytes) *s2.Dict {
	of := weak.Make(b)
	if known := d.find(of); known != nil {
		return known
	}
	raw, err := b.Append(make([]byte, 0, b.Len()+dictionaryTail))
	runtime.KeepAlive(b)
	if err != nil {
		panic("kinform: the packed bytes of a parent are corrupt: " + err.Error())
	}
	if len(raw) > s2.MaxDictSize { // only the end of it is used, so keep no more
		raw = append(make([]byte, 0, s2.MaxDictSize+dictionaryTail), raw[len(raw)-s2.MaxDictSize:]...)
	}
	made := s2.MakeDict(raw, nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.known[of]; e != nil {
		return e.Value.(*dictionary).Dict
	}
	if d.known == nil {
		d.known = map[weak.Pointer[Bytes]]*list.Element{}
	}
	d.known[of] = d.byUse.PushFront(&dictionary{of, made})
	if d.byUse.Len() > perShard {
		last := d.byUse.Remove(d.byUse.Back()).(*dictionary)
		delete(d.known, last.of)
	}
	return made
}

func (d *dictionaries) find(of weak.Pointer[Bytes]) *s2.Dict {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known[of]
	if e == nil {
		return nil
	}
	d.byUse.MoveToFront(e)
	return e.Value.(*dictionary).Dict
}
