package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinform/kinform/describe"
)

// Options of a Collector. The zero value works.
type Options struct {
	// Informers is how many informers have their own series. Zero or less means the
	// default, 200. Change it if a program creates an informer for each of its tenants;
	// Prometheus needs room for about 70 series for each.
	Informers int
	// Subscribers is how many subscribers of one informer have their own series. Zero
	// or less means the default, 20.
	Subscribers int
}

// Collector shows informers to Prometheus. It is a prometheus.Collector.
type Collector struct {
	options Options
	// collecting is held by one scrape at a time, so that an older scrape is not
	// mistaken for counters that went back.
	collecting sync.Mutex

	mu          sync.Mutex
	of          []describe.Measurer
	informers   names
	subscribers map[uint64]*names // by engine
	counted     map[series]carry
}

// Register registers a collector of informers and makes them measure their handlers.
// The collector stays, with what it has of informers that have ended, until
// Collector.Remove or until the registry drops it; ended informers are not shown.
//
// Possible errors: ErrNotKinforms; those of reg.Register, for example if it already has
// a collector of this package: use Collector.Add then.
func Register(reg prometheus.Registerer, informers ...any) (*Collector, error) {
	c := New(Options{})
	if err := c.Add(informers...); err != nil {
		return nil, err
	}
	if err := reg.Register(c); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return c, nil
}

// New returns a collector without informers. It is not registered.
func New(o Options) *Collector {
	if o.Informers <= 0 {
		o.Informers = 200
	}
	if o.Subscribers <= 0 {
		o.Subscribers = 20
	}
	return &Collector{options: o, informers: names{most: o.Informers}, subscribers: map[uint64]*names{}}
}

// ErrNotKinforms says that an informer, a factory or a cache is not kinform's, so there
// is nothing to show.
var ErrNotKinforms = errors.New("it is not one of kinform's")

// Add adds informers, leases, factories and caches. If one of them is not kinform's, it
// adds none.
//
// Possible errors: ErrNotKinforms.
func (c *Collector) Add(informers ...any) error {
	var added []describe.Measurer
	for _, i := range informers {
		m, ok := measurer(i)
		if !ok {
			return fmt.Errorf("metrics: cannot measure a %T: %w", i, ErrNotKinforms)
		}
		added = append(added, m)
	}
	for _, m := range added {
		m.Measure() // from now on, and not from the first scrape on
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of = append(c.of, added...)
	return nil
}

// measurer returns what measures an informer: the informer itself or, if client-go has
// wrapped it, its controller.
func measurer(i any) (describe.Measurer, bool) {
	if m, ok := i.(describe.Measurer); ok {
		return m, true
	}
	if i == nil {
		return nil, false
	}
	// The result has a type of client-go, which this package must not import.
	get := reflect.ValueOf(i).MethodByName("GetController")
	if !get.IsValid() || get.Type().NumIn() != 0 || get.Type().NumOut() != 1 {
		return nil, false
	}
	m, ok := get.Call(nil)[0].Interface().(describe.Measurer)
	return m, ok
}

// Remove removes what was added.
func (c *Collector) Remove(informers ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, i := range informers {
		removed, ok := measurer(i)
		c.of = slices.DeleteFunc(c.of, func(m describe.Measurer) bool { return ok && m == removed })
	}
}

// Describe is for Prometheus.
func (c *Collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range all {
		to <- m.desc
	}
}

// Collect is for Prometheus.
func (c *Collector) Collect(to chan<- prometheus.Metric) { c.collect().send(to) }

func (c *Collector) collect() *scrape {
	c.collecting.Lock()
	defer c.collecting.Unlock()
	c.mu.Lock()
	of := slices.Clone(c.of)
	c.mu.Unlock()
	var found []describe.Description
	for _, m := range of {
		found = append(found, m.Measure()...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.scrape(found)
}

// scrape makes samples of what was found.
func (c *Collector) scrape(found []describe.Description) *scrape {
	// In order of creation, so that the first one gets the plain name.
	slices.SortStableFunc(found, func(a, b describe.Description) int { return cmp.Compare(a.Engine, b.Engine) })
	there := map[uint64]bool{}
	for _, d := range found {
		there[d.Engine] = true
	}
	c.informers.keep(there)
	for engine := range c.subscribers {
		if !there[engine] {
			delete(c.subscribers, engine)
		}
	}
	s := newScrape()
	for i := 0; i < len(found); {
		n := i + 1
		for n < len(found) && found[n].Engine == found[i].Engine {
			n++
		}
		name := c.informers.name(found[i].Engine, nameOf(found[i]))
		s.informer(name, found[i])
		s.subscribers(name, c.subscriberNames(name, found[i].Engine), found[i:n])
		i = n
	}
	s.add(informers, float64(len(there)))
	c.counted = s.keepCounting(c.counted)
	return s
}

// subscriberNames returns the names of an informer's subscribers, or nil if the
// informer has no name of its own.
func (c *Collector) subscriberNames(informer string, engine uint64) *names {
	if informer == other {
		return nil
	}
	n := c.subscribers[engine]
	if n == nil {
		n = &names{most: c.options.Subscribers}
		c.subscribers[engine] = n
	}
	return n
}
