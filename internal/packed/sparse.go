package packed

import "maps"

// Replaced states leave holes in slabs. When slabs weigh much more than what lives
// in them, what is in the emptiest has to be packed again, and so does what is packed
// against bytes in one of them, so that the slab can go.

// sparseFloor is how much holes may weigh in one packer, whatever lives in it.
const sparseFloor = 1 << 20

// Sparse is a set of slabs that are mostly holes.
type Sparse struct{ slabs map[*mapping]bool }

// Sparse returns the slabs that should be emptied; nil if there is no need. It is
// cheap while slabs have not grown since it was last asked, and no more than an eighth
// of what lived in them has left.
func (p *Packer) Sparse() *Sparse {
	a := &p.arena
	if a.grown < sparseFloor && a.died() < max(sparseFloor, a.lived/8) {
		return nil
	}
	a.grown = 0
	slabs, held := a.held()
	var live int64
	sparse := map[*mapping]bool{}
	for _, m := range slabs {
		in := m.live.Load()
		live += in
		if !(a.current != nil && m == a.current.mapping) && in*2 < int64(len(m.mem)) {
			sparse[m] = true
		}
	}
	a.lived = live
	if held < 2*live+sparseFloor || len(sparse) == 0 {
		return nil
	}
	p.forget(sparse)
	return &Sparse{sparse}
}

// Whole returns all slabs, for a packer that is not going to be used again.
func (p *Packer) Whole() *Sparse {
	slabs, _ := p.arena.held()
	all := map[*mapping]bool{}
	for _, m := range slabs {
		all[m] = true
	}
	return &Sparse{all}
}

// died returns by how much less lives in slabs than when Sparse last looked. Objects
// that are deleted leave holes although no slab is added.
func (a *arena) died() int64 {
	if shared := a.shared.Load(); shared != nil {
		return a.lived - shared.live.Load()
	}
	return 0
}

// Again has Sparse look again, as there is more to empty.
func (p *Packer) Again() { p.arena.grown = sparseFloor }

// Has reports whether bytes have to be packed again for the slabs to go.
func (s *Sparse) Has(b *Bytes) bool {
	return b.slab != nil && (s.slabs[b.slab.mapping] || b.parent != nil && s.slabs[b.parent.slab.mapping])
}

// forget ensures that nothing new is packed against parents in some slabs.
func (p *Packer) forget(slabs map[*mapping]bool) {
	for _, parents := range []map[uint64]leader{p.siblings, p.namesakes} {
		maps.DeleteFunc(parents, func(_ uint64, l leader) bool { return slabs[l.in] })
	}
}
