package cli

import (
	"fmt"
	"strconv"
	"time"
)

// count writes a number with its noun: "1 object", "1,204 objects".
func count[N int | int64 | uint64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

// thousands writes a number in groups of three digits.
func thousands[N int | int64 | uint64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size writes a number of bytes with three digits or fewer.
func size(bytes int64) string {
	v, units := float64(bytes), []string{"B", "kB", "MB", "GB", "TB"}
	for v >= 999.5 && len(units) > 1 {
		v, units = v/1000, units[1:]
	}
	if v < 9.95 && v != float64(int64(v)) {
		return fmt.Sprintf("%.1f %s", v, units[0])
	}
	return fmt.Sprintf("%.0f %s", v, units[0])
}

// short writes a duration as precisely as people care for.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
