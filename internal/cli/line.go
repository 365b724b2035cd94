package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/diff"
)

// linePrinter writes a line for each change. On a terminal, lines show what fits;
// elsewhere, everything.
type linePrinter struct {
	palette
	width    func() int // 0: no bound
	resource int        // the width of that column
	key      int        // the width of that column, where keys are shorter
}

var kindColours = map[kinform.EventType]colour{
	kinform.EventAdded:   green,
	kinform.EventUpdated: yellow,
	kinform.EventDeleted: red,
}

const (
	clock = "15:04:05"
	gap   = "  "
	// indent is where a line goes on that had to be broken, as the rest would not
	// fit behind its head.
	indent = "          "
)

func (p *linePrinter) text(c change) (string, error) {
	now, kind := c.Time.Format(clock), fmt.Sprintf("%-7s", c.Kind)
	resource, key := fmt.Sprintf("%-*s", p.resource, c.Resource), fmt.Sprintf("%-*s", p.key, c.Key)
	head := func(key string) string {
		return p.paint(faint, now) + gap + p.paint(kindColours[c.Kind], kind) + gap + resource + gap + p.paint(bold, key)
	}
	room := 0
	if width := p.width(); width > 0 {
		room = width - utf8.RuneCountInString(now+gap+kind+gap+resource+gap+key+gap)
		if room < least(c) {
			return head(c.Key) + "\n" + indent + p.what(c, max(1, width-len(indent))) + "\n", nil
		}
	}
	what := p.what(c, room)
	if what == "" {
		return head(c.Key) + "\n", nil
	}
	return head(key) + gap + what + "\n", nil
}

// least is how many characters it takes to say anything of use about a change.
func least(c change) int {
	if c.Kind == kinform.EventUpdated {
		if shown := worthALine(c.Fields); len(shown) > 0 {
			return utf8.RuneCountInString(fieldText(palette{}, shown[0], 0)) + more
		}
		return 0
	}
	return utf8.RuneCountInString(state(c))
}

// what says what is worth knowing of a change, in so many characters if that is
// possible; 0 is no bound.
func (p *linePrinter) what(c change, room int) string {
	if c.Kind == kinform.EventUpdated {
		return p.fields(c.Fields, room)
	}
	text := state(c)
	if room > 0 {
		text = shorten(text, room)
	}
	return text
}

// state says what an object that came or went is like.
func state(c change) string {
	text := printable(phraseOf(c.After))
	if c.Kind == kinform.EventDeleted {
		text = joined(text, lifetime(c.After, c.Time))
	}
	if c.Missed {
		text = joined(text, "ended while nobody watched")
	}
	return text
}

// more is what "; +99 more" takes.
const more = len("; +99 more")

// fields lists changed fields, the shallow ones first, as far as there is room.
func (p *linePrinter) fields(all []diff.Change, room int) string {
	shown := worthALine(all)
	if len(shown) == 0 {
		return p.paint(faint, "nothing but bookkeeping")
	}
	var parts []string
	used, left := 0, 0
	for i, f := range shown {
		takes := utf8.RuneCountInString(fieldText(palette{}, f, room)) + len("; ")
		if i > 0 && room > 0 && used+takes+more > room {
			left++
			continue
		}
		used += takes
		parts = append(parts, fieldText(p.palette, f, room))
	}
	if left > 0 {
		parts = append(parts, p.paint(faint, fmt.Sprintf("+%d more", left)))
	}
	return strings.Join(parts, "; ")
}

// headlines are the fields that people look for first.
var headlines = []string{
	"phase", "deletionTimestamp", "replicas", "readyReplicas", "image", "nodeName", "unschedulable",
	"restartCount", "waiting", "terminated",
}

// worthALine returns the fields in the order of their interest: headlines, then
// shallow ones, which say more than deep ones. Minor ones are left out unless
// there is nothing else.
func worthALine(all []diff.Change) []diff.Change {
	shown := slices.DeleteFunc(slices.Clone(all), diff.Change.Minor)
	if len(shown) == 0 {
		shown = slices.Clone(all)
	}
	slices.SortStableFunc(shown, func(a, b diff.Change) int { return interest(a) - interest(b) })
	return shown
}

// interest ranks a changed field; the lowest comes first.
func interest(c diff.Change) int {
	leaf := c.Path.Leaf().Name
	if i := slices.Index(headlines, leaf); i >= 0 && c.Op != diff.Removed {
		return i - len(headlines)
	}
	if leaf == "status" { // of a condition; its reason comes after it
		return len(c.Path) - 1
	}
	return len(c.Path)
}

// fieldText writes one changed field: "status.phase: Pending → Running". Values
// are shortened, and more so where there is little room; 0 is no bound.
func fieldText(p palette, f diff.Change, room int) string {
	path := printable(f.Path.String()) + ":"
	value, pair := longestValue, longestPair
	if room > 0 {
		left := room - utf8.RuneCountInString(path) - more
		value, pair = max(8, min(value, left-3)), max(8, min(pair, (left-4)/2))
	}
	path = p.paint(cyan, path) + " "
	switch {
	case f.New == hiddenChanged:
		return path + "changed " + p.paint(faint, hidden)
	case f.Op == diff.Added:
		return path + p.paint(green, "+ "+shorten(inline(f.New), value))
	case f.Op == diff.Removed:
		return path + p.paint(red, "- "+shorten(inline(f.Old), value))
	}
	before, after := shortenPair(inline(f.Old), inline(f.New), pair)
	return path + p.paint(faint, before) + " → " + p.paint(bold, after)
}

// joined puts two phrases side by side, if there are two.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}
