package slots

import (
	"maps"
	"slices"
)

// Index is an index: the slots found under each value, and the values of each
// slot, so that a change needs nothing of the state before but its slot. Values
// are numbered; a slot has the number of its one value, or that of a list.
type Index struct {
	numbers map[string]uint32
	values  []value
	free    []uint32   // numbers of values that no slot has any more
	of      []uint32   // by slot: 0 for no value, or a number, or manyBit and where in many
	many    [][]uint32 // of slots with several values
	spare   []uint32   // places in many that are not used
}

type value struct {
	text string
	set  Set
}

const manyBit = 1 << 31

// NewIndex returns an empty index.
func NewIndex() *Index {
	return &Index{numbers: map[string]uint32{}, values: make([]value, 1)} // number 0 is none
}

// Find returns the slots of a value, or nil.
func (p *Index) Find(text string) *Set {
	if n, ok := p.numbers[text]; ok {
		return &p.values[n].set
	}
	return nil
}

// Set gives a slot its values, which are sorted and unique, instead of those that
// it had.
func (p *Index) Set(s Slot, values []string) {
	if int(s) >= len(p.of) {
		if len(values) == 0 {
			return
		}
		p.of = append(p.of, make([]uint32, int(s)+1-len(p.of))...)
	}
	var had, has [4]uint32 // on the stack: most slots have one value
	before := p.numbersOf(had[:0], s)
	if p.same(before, values) {
		return
	}
	p.release(s)
	for _, n := range before {
		p.values[n].set.remove(s)
	}
	after := has[:0]
	for _, text := range values {
		n := p.number(text)
		p.values[n].set.add(s)
		after = append(after, n)
	}
	for _, n := range before {
		p.forget(n)
	}
	p.keep(s, after)
}

// numbersOf appends the numbers of a slot's values.
func (p *Index) numbersOf(dst []uint32, s Slot) []uint32 {
	switch n := p.of[s]; {
	case n == 0:
		return dst
	case n&manyBit != 0:
		return append(dst, p.many[n&^manyBit]...)
	default:
		return append(dst, n)
	}
}

// ValuesOf returns the values of a slot.
func (p *Index) ValuesOf(s Slot) []string {
	if int(s) >= len(p.of) {
		return nil
	}
	numbers := p.numbersOf(nil, s)
	values := make([]string, len(numbers))
	for i, n := range numbers {
		values[i] = p.values[n].text
	}
	return values
}

func (p *Index) same(numbers []uint32, values []string) bool {
	return slices.EqualFunc(numbers, values, func(n uint32, text string) bool { return p.values[n].text == text })
}

// Values returns all values, in no order.
func (p *Index) Values() []string { return slices.Collect(maps.Keys(p.numbers)) }

// number returns the number of a value, a new one if it is new.
func (p *Index) number(text string) uint32 {
	if n, ok := p.numbers[text]; ok {
		return n
	}
	var n uint32
	if last := len(p.free) - 1; last >= 0 {
		n, p.free = p.free[last], p.free[:last]
		p.values[n].text = text
	} else {
		n = uint32(len(p.values))
		p.values = append(p.values, value{text: text})
	}
	p.numbers[text] = n
	return n
}

// forget gives up the number of a value that no slot has any more.
func (p *Index) forget(n uint32) {
	if p.values[n].set.n > 0 {
		return
	}
	delete(p.numbers, p.values[n].text)
	p.values[n] = value{}
	p.free = append(p.free, n)
}

// keep notes the numbers of a slot's values, which has none noted.
func (p *Index) keep(s Slot, numbers []uint32) {
	switch len(numbers) {
	case 0:
	case 1:
		p.of[s] = numbers[0]
	default:
		var at uint32
		if last := len(p.spare) - 1; last >= 0 {
			at, p.spare = p.spare[last], p.spare[:last]
			p.many[at] = slices.Clone(numbers)
		} else {
			at = uint32(len(p.many))
			p.many = append(p.many, slices.Clone(numbers))
		}
		p.of[s] = at | manyBit
	}
}

// release forgets what is noted of a slot.
func (p *Index) release(s Slot) {
	if n := p.of[s]; n&manyBit != 0 {
		p.many[n&^manyBit] = nil
		p.spare = append(p.spare, n&^manyBit)
	}
	p.of[s] = 0
}

// Clone returns a copy.
func (p *Index) Clone() *Index {
	c := &Index{
		numbers: maps.Clone(p.numbers),
		values:  slices.Clone(p.values),
		free:    slices.Clone(p.free),
		of:      slices.Clone(p.of),
		many:    slices.Clone(p.many), // its elements are never changed
		spare:   slices.Clone(p.spare),
	}
	for i := range c.values {
		c.values[i].set = c.values[i].set.Clone()
	}
	return c
}
