package aggregated

import (
	"fmt"
	"strconv"
)

// State is one state of one object.
type State struct {
	Key string // namespace/name
	At  uint64 // counts the changes of the server
	Nth uint64 // counts the states of the object, from 1
}

// Versions makes resource versions: those of objects, and those of lists at a
// moment. An empty one is left out. What neither function gives to more than
// one moment, a watch can be resumed from without a gap.
type Versions struct {
	Object func(State) string
	List   func(at uint64) string
}

func number(at uint64) string { return strconv.FormatUint(at, 10) }

// Ordered counts all changes, as kube-apiserver does.
func Ordered() Versions {
	return Versions{Object: func(s State) string { return number(s.At) }, List: number}
}

// Unordered gives numbers that say nothing about the order of changes, neither
// of one object nor of several: those of a database that draws them.
func Unordered() Versions {
	drawn := func(at uint64) string { return number(1 + at*2654435761%4294967296) }
	return Versions{Object: func(s State) string { return drawn(s.At) }, List: drawn}
}

// UnorderedAcross counts the states of each object from a start of its own:
// the versions of one object grow, those of several objects say nothing about
// each other, and lists have the count of all changes.
func UnorderedAcross() Versions {
	return Versions{
		Object: func(s State) string {
			start := uint64(0)
			for _, c := range s.Key {
				start = start*31 + uint64(c)
			}
			return number(1 + start%1_000_000*1000 + s.Nth)
		},
		List: number,
	}
}

// PerObject counts the states of each object from 1, so that many objects have
// the same version, and lists the number of changes.
func PerObject() Versions {
	return Versions{Object: func(s State) string { return number(s.Nth) }, List: number}
}

// Constant gives everything the same version.
func Constant() Versions {
	return Versions{Object: func(State) string { return "1" }, List: func(uint64) string { return "1" }}
}

// Absent gives nothing a version.
func Absent() Versions {
	return Versions{Object: func(State) string { return "" }, List: func(uint64) string { return "" }}
}

// Opaque gives versions that are no numbers.
func Opaque() Versions {
	word := func(at uint64) string { return fmt.Sprintf("v-%08x", at*2654435761%4294967296) }
	return Versions{Object: func(s State) string { return word(s.At) }, List: word}
}
