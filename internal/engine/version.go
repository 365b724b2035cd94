package engine

import "strconv"

// Version is a resource version: a number wherever a server made it (so that
// versions can be compared), whatever was written where somebody else did. The
// zero value is no version.
type Version struct {
	number uint64
	opaque string // set only where it is not a number
}

// ParseVersion takes a version as it is written.
func ParseVersion[S ~string | ~[]byte](s S) Version {
	if n := parseNumber(s); n != 0 {
		return Version{number: n}
	}
	return Version{opaque: string(s)}
}

// String returns the version as it is written.
func (v Version) String() string {
	if v.number == 0 {
		return v.opaque
	}
	return strconv.FormatUint(v.number, 10)
}

// IsZero reports whether there is no version.
func (v Version) IsZero() bool { return v == Version{} }

// IsNumber reports whether the version is a number.
func (v Version) IsNumber() bool { return v.number != 0 }

// Before compares versions; one that is not a number is neither before nor after.
func (v Version) Before(o Version) bool {
	return v.number != 0 && o.number != 0 && v.number < o.number
}

// parseNumber returns 0 for what is not a number: zero is no version of an
// object, so it can stand for "none".
func parseNumber[S ~string | ~[]byte](s S) uint64 {
	if len(s) == 0 || len(s) > 20 || s[0] == '0' {
		return 0
	}
	var n uint64
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 || n > (1<<64-1-uint64(d))/10 {
			return 0
		}
		n = n*10 + uint64(d)
	}
	return n
}
