package debug

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// thousands writes a number in groups of three digits.
func thousands[N int | int64 | uint64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size writes a number of bytes with three digits or fewer.
func size[N int | int64](bytes N) string {
	v, units := float64(bytes), []string{"B", "kB", "MB", "GB", "TB"}
	for v >= 999.5 && len(units) > 1 {
		v, units = v/1000, units[1:]
	}
	if v < 9.95 && v != float64(int64(v)) {
		return fmt.Sprintf("%.1f %s", v, units[0])
	}
	return fmt.Sprintf("%.0f %s", v, units[0])
}

// age writes how long something lasted, as precisely as people care for.
func age(d time.Duration) string {
	switch {
	case d < time.Second:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// ago writes how long ago something was.
func ago(d time.Duration) string {
	if d >= 0 && d < time.Second {
		return "now"
	}
	if d < 0 {
		return "never"
	}
	return age(d) + " ago"
}

// rate writes events a second.
func rate(perSecond float64) string {
	switch {
	case perSecond < 0:
		return "–"
	case perSecond == 0:
		return "0"
	case perSecond < 9.95:
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return thousands(int64(perSecond + 0.5))
}

// clock writes a time of the day.
func clock(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("15:04:05")
}

// stamp writes a time as machines read it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// shorten cuts the end off a text that is too long, in bytes, between characters.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}
