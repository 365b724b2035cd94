package main

import (
	"fmt"
	"strings"
)

// unit says how a figure is written.
type unit int

const (
	plain unit = iota
	inSeconds
	inBytes
	perSecond
)

func (u unit) format(v float64) string {
	switch u {
	case inSeconds:
		return scaled(v, []scale{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}})
	case inBytes:
		if v < 100e3 && v > -100e3 {
			return thousands(v) + " B"
		}
		return scaled(v, []scale{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}})
	case perSecond:
		return thousands(v) + "/s"
	}
	if v < 100 && v != float64(int(v)) {
		return fmt.Sprintf("%.1f", v)
	}
	return thousands(v)
}

type scale struct {
	of   float64
	name string
}

// scaled writes three digits or so in the largest unit that is not too large.
func scaled(v float64, scales []scale) string {
	s := scales[len(scales)-1]
	for _, try := range scales {
		if v >= try.of {
			s = try
			break
		}
	}
	v /= s.of
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f %s", v, s.name)
	case v < 100:
		return fmt.Sprintf("%.1f %s", v, s.name)
	}
	return thousands(v) + " " + s.name
}

// thousands writes an integer with commas.
func thousands(v float64) string {
	text := fmt.Sprintf("%.0f", v)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// ratioText writes a ratio as people say it: 1/12.3 below one.
func ratioText(r float64) string {
	switch {
	case r <= 0:
		return "–"
	case r < 0.95:
		return fmt.Sprintf("1/%.1f", 1/r)
	case r < 10:
		return fmt.Sprintf("%.2f", r)
	}
	return fmt.Sprintf("%.1f", r)
}
