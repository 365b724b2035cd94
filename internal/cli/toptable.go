package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kinform/kinform/internal/hot"
	"github.com/kinform/kinform/internal/humane"
)

// recently is for how long a finding stands in the live table after it happened last.
const recently = time.Minute

// panel is the live table: as much of what changes at the moment as the terminal has
// lines for.
func (f *topFlags) panel(s *screen, t *hot.Tracker) []string {
	const around = 3 // a head, an empty line, and findings
	rows := min(f.rows, max(1, (s.height()-2)/len(f.by)-around))
	now := time.Now()
	r := t.Lately(now, rows)
	r.Findings = slices.DeleteFunc(r.Findings, func(f hot.Finding) bool { return now.Sub(f.Last) > recently })
	lines := f.tables(r, true, s.colours, s.width())
	return lines[:min(len(lines), max(1, s.height()-2))]
}

// tables writes a report, findings first: they are what one looks for. Live, there is no
// more of them than of anything else, and rates are those of the moment.
func (f *topFlags) tables(r hot.Report, live bool, p palette, width int) []string {
	lines := findings(r, live, p, width)
	for _, by := range groups {
		if !slices.Contains(f.by, by) {
			continue
		}
		t, rows := topTable(by), rowsBy(r, by)
		for _, row := range rows {
			rate := row.Mean
			if live {
				rate = row.Rate
			}
			t.add(append([]string{fmt.Sprintf("%.1f", rate), atMost(row)}, topCells(by, row)...)...)
		}
		if len(rows) > 0 {
			lines = append(append(lines, t.painted(p, width)...), "")
		}
	}
	if len(lines) == 0 {
		return []string{p.paint(faint, "nothing has changed")}
	}
	return lines[:len(lines)-1]
}

// findings are what needs attention, in sentences.
func findings(r hot.Report, live bool, p palette, width int) []string {
	var lines []string
	for i, finding := range r.Findings {
		text := printable(finding.Text)
		if live && width > 0 {
			text = shorten(text, width)
		}
		if live && i == 3 {
			text = fmt.Sprintf("and %d more", len(r.Findings)-i)
		}
		lines = append(lines, p.paint(map[string]colour{hot.Fight: red, hot.Loop: yellow}[finding.Kind], text))
		if live && i == 3 {
			break
		}
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	return lines
}

func topTable(by string) *table {
	t := &table{head: []string{"A SECOND", "CHANGES", "OBJECT", "MANAGERS", "FIELDS"}}
	t.numbers(2)
	if by != "object" {
		t.head = append(t.head[:2], "ADDED", "UPDATED", "DELETED", strings.ToUpper(by))
		t.numbers(5)
	}
	return t
}

func rowsBy(r hot.Report, by string) []hot.Row {
	return map[string][]hot.Row{"kind": r.Kinds, "namespace": r.Namespaces, "object": r.Objects, "manager": r.Managers}[by]
}

// atMost is the number of changes, marked where it may be too high.
func atMost(r hot.Row) string {
	if r.Over > 0 {
		return "≤" + humane.Thousands(r.Changes)
	}
	return humane.Thousands(r.Changes)
}

func topCells(by string, r hot.Row) []string {
	if by != "object" {
		return []string{humane.Thousands(r.Added), humane.Thousands(r.Updated), humane.Thousands(r.Deleted), r.Name}
	}
	return []string{r.Resource + " " + r.Name, some(r.Managers, 2), some(r.Fields, 2)}
}

// some are the first of a list, and how many more there are.
func some(all []string, most int) string {
	if len(all) <= most {
		return strings.Join(all, ", ")
	}
	return strings.Join(all[:most], ", ") + fmt.Sprintf(", +%d", len(all)-most)
}
