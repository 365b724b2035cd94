package objects

import (
	"encoding/hex"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// random is a stream of choices that depends on nothing but how it was made.
type random struct{ *rand.Rand }

// randomFor returns the stream of one thing: a kind (such as "pod") and the
// numbers that identify it. Streams of different things are independent.
func (g *Generator) randomFor(kind string, ids ...int) random {
	h := uint64(14695981039346656037)
	for i := range len(kind) {
		h = (h ^ uint64(kind[i])) * 1099511628211
	}
	for _, id := range ids {
		h = mix(h ^ uint64(id))
	}
	return random{rand.New(rand.NewPCG(uint64(g.opts.Seed), h))}
}

// mix spreads the bits of x over the whole word; it is a bijection.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// between returns a number from low to high, both included.
func (r random) between(low, high int) int { return low + r.IntN(high-low+1) }

// chance is true in the given share of cases.
func (r random) chance(share float64) bool { return r.Float64() < share }

func (r random) bytes(p []byte) []byte {
	for i := 0; i < len(p); i += 8 {
		for j, word := i, r.Uint64(); j < min(i+8, len(p)); j++ {
			p[j] = byte(word)
			word >>= 8
		}
	}
	return p
}

// hex returns n random hexadecimal digits, n even.
func (r random) hex(n int) string {
	raw := r.bytes(make([]byte, n/2))
	return hex.EncodeToString(raw)
}

func (r random) uid() types.UID {
	var raw [16]byte
	r.bytes(raw[:])
	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	var out [36]byte
	hex.Encode(out[0:8], raw[0:4])
	hex.Encode(out[9:13], raw[4:6])
	hex.Encode(out[14:18], raw[6:8])
	hex.Encode(out[19:23], raw[8:10])
	hex.Encode(out[24:36], raw[10:16])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return types.UID(out[:])
}

// safeLetters are those that the API server makes names of: no vowels, no
// digits that look like letters.
const safeLetters = "bcdfghjklmnpqrstvwxz2456789"

// suffix returns a random tail of a name, as generateName does.
func (r random) suffix(n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = safeLetters[r.IntN(len(safeLetters))]
	}
	return string(out)
}

// siblingSuffix returns the five-letter tail of sibling number i: it looks
// random, and no two siblings below 27^5 have the same.
func siblingSuffix(family uint64, i int) string {
	// The factor shares no divisor with the size, so the mapping is one to one.
	const size = 27 * 27 * 27 * 27 * 27
	n := (uint64(i)*7_368_787 + family) % size
	var out [5]byte
	for k := range out {
		out[k] = safeLetters[n%27]
		n /= 27
	}
	return string(out[:])
}

// pick returns one element of a list.
func pick[T any](r random, list []T) T { return list[r.IntN(len(list))] }

// before returns a time that lies up to span before t, in whole seconds as the
// API stores them.
func (r random) before(t time.Time, span time.Duration) time.Time {
	return t.Add(-time.Duration(r.Int64N(int64(span/time.Second)+1)) * time.Second)
}

func stamp(t time.Time) metav1.Time { return metav1.Time{Time: t.UTC().Truncate(time.Second)} }
