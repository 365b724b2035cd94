package engine

import "time"

// Why says why objects stay decoded.
type Why uint8

// The reasons.
const (
	// ForReaders: somebody asked for them, and keeps asking; or they stay decoded whatever
	// happens (AlwaysDecoded).
	ForReaders Why = iota
	// ForLists: somebody lists all of them, again and again.
	ForLists
	// ForHandlers: they change often, so that handlers will need them as old states; or
	// they have left the store, and handlers may.
	ForHandlers
	// InPassing: a handler, an index function or an iteration has read them lately.
	InPassing
)

// String is for people.
func (w Why) String() string {
	return [...]string{"asked for by readers", "listed again and again", "changing, for handlers", "read in passing"}[w]
}

// Decoded is how many objects are decoded for one reason.
type Decoded struct {
	Why     Why
	Objects int
	Bytes   int64     // about what they weigh, beside what they have in common
	Since   time.Time // when the first of them was
}

// Decoded returns what is decoded, by reason. Reasons that nothing is decoded for are left
// out.
func (c *Collection) Decoded() []Decoded {
	m := &c.resident
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []Decoded
	if k := &m.keeper; k.count > 0 {
		why := ForReaders
		if len(m.lists.views) > 0 {
			why = ForLists
		}
		all = append(all, Decoded{why, k.count, k.weight.Load(), k.since})
	}
	onRings := int64(m.hot.len() + m.pass.len())
	for _, g := range []struct {
		why Why
		*ring
	}{{ForHandlers, &m.hot}, {InPassing, &m.pass}} {
		if g.len() > 0 {
			// Parts that the states of one object share count once, whichever ring they are on.
			bytes := g.weight + m.wholes*int64(g.len())/onRings
			all = append(all, Decoded{g.why, g.len(), bytes, clockStart.Add(g.oldest().at)})
		}
	}
	return all
}
