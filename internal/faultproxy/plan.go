package faultproxy

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// class is what a request asks for.
type class string

const (
	classOther     class = "other"
	classProbe     class = "probe" // a look at the version
	classList      class = "list"
	classPage      class = "page" // a further page of a list
	classWatch     class = "watch"
	classWatchList class = "watchlist"
)

func classOf(r *http.Request) class {
	q := r.URL.Query()
	switch {
	case r.Method != http.MethodGet:
		return classOther
	case q.Get("watch") == "true" && q.Get("sendInitialEvents") == "true":
		return classWatchList
	case q.Get("watch") == "true":
		return classWatch
	case q.Get("continue") != "":
		return classPage
	case q.Get("limit") == "1", strings.Contains(q.Get("fieldSelector"), "metadata.name=kinform-asks-for-the-version"):
		return classProbe
	}
	return classList
}

// rng is the chance that a request is left to: it follows from the seed, who asks,
// what for, and how often it has done so.
func (p *Proxy) rng(x *exchange) *rand.Rand {
	who := x.r.UserAgent() + " " + string(x.class) + " " + x.r.URL.Path
	p.mu.Lock()
	p.requests[who]++
	n := p.requests[who]
	p.mu.Unlock()
	h := fnv.New64a()
	_, _ = h.Write([]byte(who)) // a hash takes everything
	return rand.New(rand.NewPCG(p.options.Seed, h.Sum64()+n))
}

// choose takes one of several faults by weight; false: none of them.
func (x *exchange) choose(from []weighted) (Kind, bool) {
	only := x.proxy.options.Only
	sum := 0
	for _, w := range from {
		if len(only) == 0 || slices.Contains(only, w.kind) {
			sum += w.weight
		}
	}
	if sum == 0 {
		return "", false
	}
	n := x.rng.IntN(sum)
	for _, w := range from {
		if len(only) > 0 && !slices.Contains(only, w.kind) {
			continue
		}
		if n -= w.weight; n < 0 {
			return w.kind, true
		}
	}
	return "", false
}

// wanted: a fault that is not chosen among others may be injected.
func (x *exchange) wanted(k Kind) bool {
	only := x.proxy.options.Only
	return len(only) == 0 || slices.Contains(only, k)
}

// counts of what was injected.
type counts struct {
	mu sync.Mutex
	n  map[Kind]uint64
}

func (c *counts) add(k Kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[Kind]uint64{}
	}
	c.n[k]++
}

// Counts returns how many faults of each kind were injected.
func (p *Proxy) Counts() map[Kind]uint64 {
	p.counts.mu.Lock()
	defer p.counts.mu.Unlock()
	return maps.Clone(p.counts.n)
}
