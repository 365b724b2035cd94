package unmarshal

import "sync"

// decoder decodes one object at a time, with what it remembers of those before.
type decoder struct {
	words *words // nil: nothing is remembered
	// values and entries are scratch memory: the parts of the arrays and maps that
	// are being read.
	values  []any
	entries []entryOf
	scratch []byte   // of a string with escapes
	numbers []uint64 // what is left of the present object's memory for numbers
	own     int      // how much memory an object has that it does not share with its neighbour
	sibling bool     // that neighbour is another object

	// A document in JSON that is being read, its arrays and objects, and the next of
	// these.
	doc        []byte
	containers []container
	at         int
}

const (
	// mostDecoders is how many goroutines have a decoder that remembers words. If more
	// decode at the same time, the others remember nothing.
	mostDecoders = 64
	// wellRead is how many of these remember many words; the rest are only used by
	// machines with many cores, and remember fewer.
	wellRead = 8
)

// decoders are kept for the words that they know. The first that is free is taken, so
// that few goroutines use few of them.
var decoders [mostDecoders]sharedDecoder

type sharedDecoder struct {
	sync.Mutex
	decoder
}

// with has a decoder decode one object.
func with(decode func(*decoder) error) error {
	for i := range decoders {
		d := &decoders[i]
		if !d.TryLock() {
			continue
		}
		if d.words == nil {
			d.words = newWords(i < wellRead)
		}
		return d.with(decode)
	}
	return decode(&decoder{})
}

// with decodes with a decoder that is locked, and frees it, also if decode panics.
func (d *sharedDecoder) with(decode func(*decoder) error) error {
	defer d.Unlock()
	d.words.begin()
	defer d.forget()
	return decode(&d.decoder)
}

// forget drops what belongs to the object that was decoded.
func (d *decoder) forget() {
	d.numbers = nil
	clear(d.values) // an error may have left something there
	clear(d.entries)
	if cap(d.scratch) > largestScratch {
		d.scratch = nil
	}
	if cap(d.values) > mostScratch {
		d.values = nil
	}
	if cap(d.entries) > mostScratch {
		d.entries = nil
	}
	if cap(d.containers) > mostScratch {
		d.containers = nil
	}
}

// Scratch memory beyond this is not kept for the next object.
const (
	largestScratch = 64 << 10 // bytes
	mostScratch    = 4 << 10  // values, of 12 to 40 bytes
)
