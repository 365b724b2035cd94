package cli

// palette colours text, or leaves it as it is.
type palette struct{ on bool }

// colour is the number of a terminal's way of writing.
type colour string

const (
	bold   colour = "1"
	faint  colour = "2"
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	cyan   colour = "36"
)

func (p palette) paint(c colour, text string) string {
	if !p.on || text == "" || c == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
