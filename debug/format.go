package debug

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/kinform/kinform/internal/humane"
)

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
	return humane.Thousands(int64(perSecond + 0.5))
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
