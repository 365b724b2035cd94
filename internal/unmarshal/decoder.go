package unmarshal

import "sync"

// decoder decodes one object at a time, with what it remembers of those before.
type decoder struct {
	words *words
	// values and entries are scratch memory: the parts of the arrays and maps that
	// are being read.
	values  []any
	entries []entryOf
	scratch []byte   // of a string with escapes
	numbers []uint64 // what is left of the present object's memory for numbers
}

// decoders are kept for the words that they know: one for each of a few
// goroutines. If there are more, they get one without a memory.
var decoders [8]struct {
	sync.Mutex
	decoder
}

func borrow() (d *decoder, giveBack func()) {
	for i := range decoders {
		if d := &decoders[i]; d.TryLock() {
			if d.words == nil {
				d.words = &words{}
			}
			d.words.begin()
			return &d.decoder, d.Unlock
		}
	}
	return &decoder{words: &words{}}, func() {}
}
