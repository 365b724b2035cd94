package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrDiverged says that an informer did not become equal to the server.
var ErrDiverged = errors.New("the informer is not equal to the server")

// Compare is for quiet points: nobody writes, and the server can be reached. It
// waits until the store, the indexes, what was delivered to every subscriber and what
// a late joiner gets equal the server's own list, in every field. What still
// differs when ctx ends becomes Violations, and the error.
//
// Possible errors: ErrDiverged; what kept the server from being listed.
func (c *Checker) Compare(ctx context.Context) error {
	var found []Violation
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 250*time.Millisecond) {
		server, err := c.server(ctx)
		if err == nil {
			found = c.differences(ctx, server)
			if len(found) == 0 {
				c.settle()
				return nil
			}
		}
		select {
		case <-time.After(pause):
			continue
		case <-ctx.Done():
		}
		if err != nil && len(found) == 0 {
			return fmt.Errorf("%s: listing the server, in order to compare: %w", c.options.Name, err)
		}
		for _, v := range found {
			c.record(v)
		}
		return fmt.Errorf("%s: %w: %d differences, the first: %s", c.options.Name, ErrDiverged, len(found), found[0])
	}
}

// settle notes at a quiet point that every state has seen the present epoch, so
// that from now on none may step back.
func (c *Checker) settle() {
	epochs := c.options.Epochs()
	for _, s := range c.present() {
		s.mu.Lock()
		s.base = epochs
		for key, st := range s.shadow {
			if st.gone {
				// A tombstone has done its work once all are equal. Keeping those of
				// names that never come back would grow without bound.
				delete(s.shadow, key)
			}
		}
		s.mu.Unlock()
	}
}

func (c *Checker) present() []*Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.subscribers)
}

// server returns the server's objects by key.
func (c *Checker) server(ctx context.Context) (map[string]metav1.Object, error) {
	if c.options.List == nil {
		return nil, errors.New("Options.List is not set")
	}
	list, err := c.options.List(ctx)
	if err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	objects := make(map[string]metav1.Object, len(items))
	for _, item := range items {
		obj, err := meta.Accessor(item)
		if err != nil {
			return nil, err
		}
		objects[keyOf(obj)] = obj
	}
	return objects, nil
}

// differences returns what is not equal to the server: first what is cheap to
// see, and the fields only when all versions agree.
func (c *Checker) differences(ctx context.Context, server map[string]metav1.Object) []Violation {
	var found []Violation
	store := map[string]metav1.Object{}
	for key, obj := range c.target.all() {
		store[key] = obj
	}
	for key, obj := range server {
		if have, ok := store[key]; !ok || !sameVersion(have, obj) {
			found = append(found, Violation{Rule: Store, Key: key, Want: versionOf(obj), Got: "the store has " + versionOf(have)})
		}
	}
	for key, have := range store {
		if server[key] == nil {
			found = append(found, Violation{Rule: Store, Key: key, Want: versionOf(nil), Got: "the store has " + versionOf(have)})
		}
	}
	for _, s := range c.present() {
		found = append(found, s.differences(Shadow, server)...)
	}
	if len(found) > 0 {
		return found
	}
	for key, obj := range server {
		if have := store[key]; !c.options.Equal(have, obj) {
			found = append(found, Violation{Rule: Store, Key: key, Want: "the server's fields @" + obj.GetResourceVersion(),
				Got: "the store has others: " + differentFields(have, obj)})
		}
	}
	found = append(found, c.indexDifferences(server)...)
	return append(found, c.lateDifferences(ctx, server)...)
}

// differences compares what was delivered to the subscriber with the server.
func (s *Subscription) differences(rule Rule, server map[string]metav1.Object) []Violation {
	var found []Violation
	differs := func(key string, want metav1.Object, got string) {
		found = append(found, Violation{Rule: rule, Subscriber: s.options.Name, Key: key,
			Want: versionOf(want), Got: "it got " + got})
	}
	s.mu.Lock()
	for key, obj := range server {
		st, ok := s.shadow[key]
		if !ok || st.gone || st.version != obj.GetResourceVersion() || st.uid != string(obj.GetUID()) {
			differs(key, obj, st.String())
		}
	}
	for key, st := range s.shadow {
		if !st.gone && server[key] == nil {
			differs(key, nil, st.String())
		}
	}
	s.mu.Unlock()
	for i := range found {
		found[i].Recent = s.lately(found[i].Key)
	}
	return found
}

func (st state) String() string {
	switch {
	case st.version == "":
		return "nothing"
	case st.gone:
		return "its end @" + st.version
	}
	return "@" + st.version + " of uid " + st.uid
}

// lateDifferences has one more subscriber join, and compares what it gets with the
// server, and, byte by byte, with what the others got.
func (c *Checker) lateDifferences(ctx context.Context, server map[string]metav1.Object) []Violation {
	late := c.newSubscription(Subscriber{Name: "late joiner"})
	late.join()
	defer func() {
		late.Stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.delivered.add(late.Delivered())
	}()
	for !late.HasSynced() {
		select {
		case <-ctx.Done():
			return []Violation{{Rule: LateJoiner, Subscriber: late.options.Name, Want: "to be synced", Got: "it is not"}}
		case <-time.After(time.Millisecond):
		}
	}
	found := late.differences(LateJoiner, server)
	if len(found) > 0 {
		return found
	}
	if n := late.Delivered().Total(); n != uint64(len(server)) {
		found = append(found, Violation{Rule: LateJoiner, Subscriber: late.options.Name,
			Want: fmt.Sprintf("%d events, one for each object", len(server)), Got: fmt.Sprintf("%d events", n)})
	}
	for _, s := range c.present() {
		for _, key := range s.otherBytes(late) {
			found = append(found, Violation{Rule: Shadow, Subscriber: s.options.Name, Key: key,
				Want: "the bytes that a late joiner gets", Got: "it got others", Recent: s.lately(key)})
		}
	}
	return found
}

// otherBytes returns the objects of which two subscribers got different bytes, though
// the version is the same.
func (s *Subscription) otherBytes(late *Subscription) (keys []string) {
	late.mu.Lock()
	defer late.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, st := range s.shadow {
		if l, ok := late.shadow[key]; ok && l.version == st.version && l.sum != st.sum {
			keys = append(keys, key)
		}
	}
	return keys
}

// indexDifferences computes each index again from the server's objects.
func (c *Checker) indexDifferences(server map[string]metav1.Object) []Violation {
	c.mu.Lock()
	indexes := slices.Clone(c.indexes)
	c.mu.Unlock()
	var found []Violation
	for _, ix := range indexes {
		want := map[string][]string{}
		for key, obj := range server {
			for _, v := range uniq(ix.values(obj)) {
				want[v] = append(want[v], key)
			}
		}
		if ix.all != nil {
			for _, v := range ix.all() {
				if _, ok := want[v]; !ok {
					want[v] = nil
				}
			}
		}
		for v, keys := range want {
			slices.Sort(keys)
			have := slices.Sorted(slices.Values(ix.keys(v)))
			if !slices.Equal(have, keys) {
				found = append(found, Violation{Rule: Indexed, Key: ix.name,
					Want: fmt.Sprintf("%d objects under a value, %v", len(keys), missing(keys, have)),
					Got:  fmt.Sprintf("%d, %v", len(have), missing(have, keys))})
			}
		}
	}
	return found
}

// missing returns what of a is not in b.
func missing(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

func uniq(values []string) []string {
	values = slices.Sorted(slices.Values(values))
	return slices.Compact(values)
}
