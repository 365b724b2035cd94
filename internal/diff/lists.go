package diff

import (
	"fmt"
	"reflect"
	"strconv"
)

// names are the fields by which items of a list are known, best first. The first
// one that distinguishes all items of both lists is taken: containers have names,
// conditions have types, mounts of one volume differ in their path.
var names = []string{
	"name", "type", "key", "mountPath", "devicePath", "uid", "containerPort", "port", "ip", "topologyKey", "id",
}

// lists compares lists item by item: by name if the items have names, else by
// what they are.
func (c *comparison) lists(p Path, before, after []any) {
	for _, field := range names {
		old, ok := byName(before, field)
		if !ok {
			continue
		}
		if now, ok := byName(after, field); ok {
			c.named(p, old, now)
			return
		}
	}
	c.unnamed(p, before, after)
}

// namedItems are the items of a list with the names that they are known by.
type namedItems struct {
	order []string
	items map[string]any
}

// byName returns the items by a field of theirs; false if some item does not
// have it, or two have the same.
func byName(list []any, field string) (namedItems, bool) {
	n := namedItems{items: make(map[string]any, len(list))}
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			return n, false
		}
		name, ok := scalar(m[field])
		if _, taken := n.items[name]; !ok || taken {
			return n, false
		}
		n.items[name] = item
		n.order = append(n.order, name)
	}
	return n, true
}

func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, v != ""
	case int64, float64, bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

// named compares the items of the same name. Their order does not count.
func (c *comparison) named(p Path, before, after namedItems) {
	for _, name := range before.order {
		if now, is := after.items[name]; is {
			c.values(p.item(name), before.items[name], now)
		} else {
			c.removed(p.item(name), before.items[name])
		}
	}
	for _, name := range after.order {
		if _, was := before.items[name]; !was {
			c.added(p.item(name), after.items[name])
		}
	}
}

// unnamed leaves out the items that both lists have and compares the others in
// their order. A place is that in the new list, or in the old one for what is
// gone.
func (c *comparison) unnamed(p Path, before, after []any) {
	gone, come := unequal(before, after)
	both := min(len(gone), len(come))
	for i := range both {
		c.values(p.item(strconv.Itoa(come[i])), before[gone[i]], after[come[i]])
	}
	for _, i := range gone[both:] {
		c.removed(p.item(strconv.Itoa(i)), before[i])
	}
	for _, i := range come[both:] {
		c.added(p.item(strconv.Itoa(i)), after[i])
	}
	if len(gone) == 0 && len(come) == 0 && !reflect.DeepEqual(before, after) {
		c.changes = append(c.changes, Change{Path: p, Op: Changed, Old: before, New: after}) // another order
	}
}

// unequal returns the places of the items that only one of the lists has, an
// item that stands there twice being two items.
func unequal(before, after []any) (gone, come []int) {
	count := map[string]int{}
	for _, item := range before {
		count[identity(item)]++
	}
	for i, item := range after {
		id := identity(item)
		if count[id] > 0 {
			count[id]--
			continue
		}
		come = append(come, i)
	}
	// What was not used up is gone; of equal items, the last ones.
	for i := len(before) - 1; i >= 0; i-- {
		if id := identity(before[i]); count[id] > 0 {
			count[id]--
			gone = append([]int{i}, gone...)
		}
	}
	return gone, come
}

// identity is the same for equal items and no others: fmt sorts the keys of
// maps, and %#v tells 1 from "1".
func identity(item any) string { return fmt.Sprintf("%#v", item) }
