package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/diff"
	"github.com/kinform/kinform/internal/redact"
)

// linePrinter writes a line for each change. On a terminal, lines show what fits;
// elsewhere, everything.
type linePrinter struct {
	palette
	width    func() int // 0: no bound
	resource int        // the width of that column
	key      int        // the width of that column, where keys are shorter
	only     bool       // there is one resource, which a terminal need not show in each line
}

var kindColours = map[kinform.EventType]colour{
	kinform.EventAdded:   green,
	kinform.EventUpdated: yellow,
	kinform.EventDeleted: red,
}

const (
	clock = "15:04:05"
	gap   = "  "
	// leastKey is how much of a key always stays.
	leastKey = 16
)

func (p *linePrinter) text(c change) (string, error) {
	now, kind, resource := c.Time.Format(clock), pad(string(c.Kind), 7), pad(c.Resource, p.resource)+gap
	width := p.width()
	if p.only && width > 0 {
		resource = ""
	}
	begin := p.paint(faint, now) + gap + p.paint(kindColours[c.Kind], kind) + gap + resource
	key, room := pad(c.Key, p.key), 0
	if width > 0 {
		taken := columns(now + gap + kind + gap + resource)
		if taken+leastKey > width { // too narrow for anything but the beginning
			return shorten(now+gap+kind+gap+resource+c.Key, width) + "\n", nil
		}
		key, room = p.share(c, width-taken)
		if room <= 0 {
			return begin + p.paint(bold, strings.TrimRight(key, " ")) + "\n", nil
		}
	}
	what := p.what(c, room)
	if what == "" {
		return begin + p.paint(bold, c.Key) + "\n", nil
	}
	return begin + p.paint(bold, key) + gap + what + "\n", nil
}

// share divides what is left of a line between the key and what is said about it. Where
// both do not fit, the key loses its place in the column first, then its middle.
func (p *linePrinter) share(c change, left int) (key string, room int) {
	need := least(c)
	if need == 0 {
		return shortenMiddle(c.Key, left), 0
	}
	left -= len(gap)
	if key = pad(c.Key, p.key); columns(key)+need <= left {
		return key, left - columns(key)
	}
	key = shortenMiddle(c.Key, max(leastKey, left-need, left*2/5))
	return key, left - columns(key)
}

// least is how many columns it takes to say anything of use about a change.
func least(c change) int {
	if c.Kind == kinform.EventUpdated {
		if shown := worthALine(c.Fields); len(shown) > 0 {
			return columns(fieldText(palette{}, shown[0], 0)) + few
		}
		return columns(bookkeeping)
	}
	return columns(state(c))
}

// what says what is worth knowing of a change, in so many columns; 0 is no bound.
func (p *linePrinter) what(c change, room int) string {
	if c.Kind == kinform.EventUpdated {
		plain := linePrinter{}
		if text := plain.fields(c.Fields, room); room > 0 && columns(text) > room {
			return shorten(text, room) // a very narrow terminal
		}
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
	text := strings.ReplaceAll(printable(phraseOf(c.After)), "\t", " ") // a tab has any width
	if c.Kind == kinform.EventDeleted {
		text = joined(text, lifetime(c.After, c.Time))
	}
	if c.Missed {
		text = joined(text, "ended while nobody watched")
	}
	return text
}

// few is what "; +99" takes, and more what "; +99 more" does.
const (
	few  = len("; +99")
	more = len("; +99 more")
)

// bookkeeping is said of a change of what changes with every write.
const bookkeeping = "nothing but bookkeeping"

// fields lists changed fields, those that matter first, as far as there is room, and
// counts the others.
func (p *linePrinter) fields(all []diff.Change, room int) string {
	shown := worthALine(all)
	if len(shown) == 0 {
		if room > 0 {
			return p.paint(faint, shorten(bookkeeping, room))
		}
		return p.paint(faint, bookkeeping)
	}
	var parts []string
	used, left := 0, 0
	for i, f := range shown {
		if i > 0 && room > 0 && used+briefly(f)+few > room {
			left++
			continue
		}
		rest := max(0, room-used)
		used += columns(fieldText(palette{}, f, rest)) + len("; ")
		parts = append(parts, fieldText(p.palette, f, rest))
	}
	if left > 0 {
		rest := fmt.Sprintf("+%d more", left)
		if used+len(rest) > room {
			rest = fmt.Sprintf("+%d", left)
		}
		parts = append(parts, p.paint(faint, rest))
	}
	return strings.Join(parts, "; ")
}

// headlines are the fields that people look for first.
var headlines = []string{
	"phase", "deletionTimestamp", "replicas", "readyReplicas", "image", "nodeName", "unschedulable",
	"waiting", "restartCount", "terminated",
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
// are shortened. Where there is little room, the first steps of the path go before
// anything of the value does; 0 is no bound.
func fieldText(p palette, f diff.Change, room int) string {
	path, value, pair := printable(f.Path.String()), longestValue, longestPair
	if room > 0 {
		left := max(6, room-few-len(": "))
		path = shortenPath(f.Path, left-columns(valueText(palette{}, f, value, pair)))
		left -= columns(path)
		value, pair = min(value, left-len("+ ")), min(pair, (left-len(" > "))/2)
	}
	return p.paint(cyan, path+":") + " " + valueText(p, f, max(1, value), max(1, pair))
}

// shortenPath leaves out the first steps of a path, but for the last one: the last
// ones say more.
func shortenPath(p diff.Path, most int) string {
	text := printable(p.String())
	for columns(text) > most && len(p) > 1 {
		p = p[1:]
		text = "…" + printable(p.String())
	}
	return text
}

// briefly is how many columns a field takes with the shortest path.
func briefly(f diff.Change) int {
	return columns(shortenPath(f.Path, 0)+": ") + columns(valueText(palette{}, f, longestValue, longestPair))
}

// valueText writes what became of a value, in so many columns, or twice as many for
// two.
func valueText(p palette, f diff.Change, value, pair int) string {
	switch {
	case f.New == redact.HiddenChanged:
		return shorten("changed "+redact.Hidden, value+len("+ "))
	case f.Op == diff.Added:
		if reason := reasonOf(f.New); reason != "" && columns(inline(f.New)) > value {
			return p.paint(green, shorten(reason, value+len("+ ")))
		}
		return p.paint(green, "+ "+shorten(inline(f.New), value))
	case f.Op == diff.Removed:
		return p.paint(red, "- "+shorten(inline(f.Old), value))
	}
	before, after := shortenPair(inline(f.Old), inline(f.New), pair)
	if before == after { // too little room for both
		return "→ " + p.paint(bold, shorten(inline(f.New), 2*pair+1))
	}
	return p.paint(faint, before) + " → " + p.paint(bold, after)
}

// reasonOf is what says most of a state, as that of a container.
func reasonOf(v any) string {
	m, _ := v.(map[string]any)
	if reason, ok := m["reason"].(string); ok {
		return word(reason)
	}
	return ""
}

// joined puts two phrases side by side, if there are two.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}
