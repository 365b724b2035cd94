package cli

import (
	"slices"
	"strings"
)

// table is text in columns.
type table struct {
	head  []string
	right []bool // the columns of numbers
	rows  [][]string
}

// numbers makes the first n columns those of numbers.
func (t *table) numbers(n int) {
	t.right = slices.Repeat([]bool{true}, n)
}

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = strings.ReplaceAll(printable(cells[i]), "\t", " ")
	}
	t.rows = append(t.rows, cells)
}

// leastColumn is what always stays of a column of texts.
const leastColumn = 8

// lines writes the table, within so many columns of a terminal; 0 is no bound. The widest
// columns of texts are shortened.
func (t *table) lines(width int) []string {
	widths := make([]int, len(t.head))
	all := append([][]string{t.head}, t.rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], columns(cell))
		}
	}
	if width > 0 {
		t.narrow(widths, width)
	}
	var lines []string
	for _, row := range all {
		var parts []string
		for i, cell := range row {
			cell = shortenMiddle(cell, widths[i])
			switch {
			case i < len(t.right) && t.right[i]:
				cell = strings.Repeat(" ", max(0, widths[i]-columns(cell))) + cell
			case i < len(row)-1:
				cell = pad(cell, widths[i])
			}
			parts = append(parts, cell)
		}
		line := strings.TrimRight(strings.Join(parts, gap), " ")
		if width > 0 {
			line = shorten(line, width)
		}
		lines = append(lines, line)
	}
	return lines
}

// narrow takes away from the widest columns of texts until all fit, and twice as much
// from the last one: what it is stands before what there is to say about it.
func (t *table) narrow(widths []int, width int) {
	over := len(gap)*(len(widths)-1) - width
	for _, w := range widths {
		over += w
	}
	for ; over > 0; over-- {
		widest, most := -1, 0
		for i, w := range widths {
			weight := w
			if i == len(widths)-1 {
				weight *= 2
			}
			if text := i >= len(t.right) || !t.right[i]; text && w > leastColumn && weight >= most {
				widest, most = i, weight
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// painted writes the table with its head set apart.
func (t *table) painted(p palette, width int) []string {
	lines := t.lines(width)
	lines[0] = p.paint(bold, lines[0])
	return lines
}
