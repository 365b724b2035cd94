package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/diff"
)

// unifiedPrinter writes changes as patches look: a heading, then, for each part of
// the object that changed, where that is and the lines that went and came.
type unifiedPrinter struct{ palette }

func (p unifiedPrinter) text(c change) (string, error) {
	var b strings.Builder
	name := c.Resource + " " + c.Key
	head := fmt.Sprintf("%s %s %s", c.Time.Format("15:04:05"), c.Kind, name)
	if c.Missed {
		head += " (ended while nobody watched)"
	}
	fmt.Fprintln(&b, p.paint(bold, head))
	switch c.Kind {
	case kinform.EventUpdated:
		fmt.Fprintln(&b, p.paint(red, "--- "+name+" at version "+c.WasVersion))
		fmt.Fprintln(&b, p.paint(green, "+++ "+name+" at version "+c.Version))
		if err := p.hunks(&b, c.Fields); err != nil {
			return "", err
		}
	case kinform.EventDeleted:
		p.lines(&b, "-", diff.Clean(c.After))
	default:
		p.lines(&b, "+", diff.Clean(c.After))
	}
	b.WriteString("\n")
	return b.String(), nil
}

// hunks writes the changed fields, with a heading wherever another part of the
// object begins.
func (p unifiedPrinter) hunks(b *strings.Builder, fields []diff.Change) error {
	if len(fields) == 0 {
		fmt.Fprintln(b, p.paint(faint, "nothing but bookkeeping"))
	}
	const nowhere = "\x00"
	where := nowhere
	for _, f := range byParent(fields) {
		if before, after, ok := multiline(f); ok {
			where = nowhere
			if err := p.textHunks(b, f.Path.String(), before, after); err != nil {
				return err
			}
			continue
		}
		if parent := f.Path.Parent().String(); parent != where {
			where = parent
			fmt.Fprintln(b, p.paint(cyan, "@@ "+orTop(printable(where))+" @@"))
		}
		if f.Op != diff.Added {
			p.lines(b, "-", entry(f.Path.Leaf(), f.Old))
		}
		if f.Op != diff.Removed {
			p.lines(b, "+", entry(f.Path.Leaf(), f.New))
		}
	}
	return nil
}

// byParent puts the fields of each part of the object side by side, and before
// those of the parts inside it.
func byParent(fields []diff.Change) []diff.Change {
	return slices.SortedStableFunc(slices.Values(fields), func(a, b diff.Change) int {
		return strings.Compare(a.Path.Parent().String(), b.Path.Parent().String())
	})
}

func orTop(where string) string {
	if where == "" {
		return "(top)"
	}
	return where
}

// entry is a value with its place in the part of the object that it stands in.
func entry(leaf diff.Step, value any) any {
	if leaf.Item {
		return []any{value}
	}
	return map[string]any{leaf.Name: value}
}

// lines writes a value as YAML, each line with a sign before it. What YAML cannot
// express stands in one line.
func (p unifiedPrinter) lines(b *strings.Builder, sign string, value any) {
	text, err := yaml.Marshal(value)
	if err != nil {
		text = []byte(inline(value))
	}
	for line := range strings.Lines(string(text)) {
		fmt.Fprintln(b, p.signed(sign+strings.TrimSuffix(line, "\n")))
	}
}

// signed colours a line by its sign.
func (p unifiedPrinter) signed(line string) string {
	switch {
	case strings.HasPrefix(line, "-"):
		return p.paint(red, line)
	case strings.HasPrefix(line, "+"):
		return p.paint(green, line)
	}
	return line
}

// multiline returns the old and the new text of a field that has several lines,
// such as a file in a ConfigMap.
func multiline(f diff.Change) (before, after string, ok bool) {
	before, wasText := f.Old.(string)
	after, isText := f.New.(string)
	return before, after, wasText && isText && (strings.Count(before, "\n") > 1 || strings.Count(after, "\n") > 1)
}

// textHunks writes what changed inside a text, line by line, with two lines
// around it.
func (p unifiedPrinter) textHunks(b *strings.Builder, path, before, after string) error {
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: textLines(before), B: textLines(after), Context: 2,
	})
	if err != nil {
		return fmt.Errorf("cannot compare the texts of %s: %w", path, err)
	}
	for line := range strings.Lines(text) {
		line = printable(strings.TrimSuffix(line, "\n"))
		if strings.HasPrefix(line, "@@") {
			fmt.Fprintln(b, p.paint(cyan, line+" "+printable(path)))
		} else {
			fmt.Fprintln(b, p.signed(line))
		}
	}
	return nil
}

// textLines are the lines of a text. A last line that does not end is marked, as
// patches do.
func textLines(text string) []string {
	lines := slices.Collect(strings.Lines(text))
	if n := len(lines); n > 0 && !strings.HasSuffix(text, "\n") {
		lines[n-1] += "\n\\ No newline at end of text\n"
	}
	return lines
}
