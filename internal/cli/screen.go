package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/kinform/kinform/internal/plain"
)

// screen is where the program writes: what was asked for to out, everything else
// to notes. Where they are terminals, there are colours, and a line of progress
// below everything else.
//
// Its methods may be called by many goroutines.
type screen struct {
	colours palette    // of out
	dim     palette    // of notes
	width   func() int // of out; 0 is no bound
	height  func() int // of out; 0 is no bound
	room    func() int // of notes

	mu       sync.Mutex
	out      io.Writer
	notes    io.Writer
	live     bool   // notes is a terminal
	wide     bool   // out is a terminal
	progress string // what stands in the line of progress; "" if there is none
	panel    []string
}

// newScreen finds out what the writers are.
func newScreen(out, notes io.Writer) *screen {
	dumb := os.Getenv("TERM") == "dumb"
	plain := dumb || os.Getenv("NO_COLOR") != ""
	return &screen{
		out:     out,
		notes:   notes,
		colours: palette{on: isTerminal(out) && !plain},
		dim:     palette{on: isTerminal(notes) && !plain},
		live:    isTerminal(notes) && !dumb,
		wide:    isTerminal(out) && !dumb,
		width:   widthOf(out),
		height:  heightOf(out),
		room:    widthOf(notes),
	}
}

// usualWidth and usualHeight are those of a terminal that does not say how large it
// is.
const (
	usualWidth  = 80
	usualHeight = 24
)

// widthOf returns what says how wide a terminal is at the moment; 0 for what is
// no terminal. It is asked anew for each line, so that a window whose size changes
// needs no signal. A terminal that does not know has what COLUMNS says.
func widthOf(w io.Writer) func() int {
	if !isTerminal(w) {
		return func() int { return 0 }
	}
	fd := int(w.(*os.File).Fd())
	return func() int {
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			return width
		}
		if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
			return width
		}
		return usualWidth
	}
}

// heightOf is widthOf for the number of lines.
func heightOf(w io.Writer) func() int {
	if !isTerminal(w) {
		return func() int { return 0 }
	}
	fd := int(w.(*os.File).Fd())
	return func() int {
		if _, height, err := term.GetSize(fd); err == nil && height > 0 {
			return height
		}
		return usualHeight
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// eraseLine removes the line of the cursor, eraseLines so many above it, and all below.
const (
	eraseLine  = "\r\x1b[K"
	eraseLines = "\x1b[%dA\x1b[J"
)

// print writes text that was asked for.
func (s *screen) print(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hideLocked()
	_, err := io.WriteString(s.out, text)
	s.showLocked()
	return err
}

// note writes a line about what the program does. It may quote anything. A failure to
// write it is no reason to stop.
func (s *screen) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hideLocked()
	_, _ = io.WriteString(s.notes, plain.Lines(line)+"\n")
	s.showLocked()
}

// setProgress replaces the line of progress; "" removes it. Without a terminal
// there is none.
func (s *screen) setProgress(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live || line == s.progress {
		return
	}
	s.hideLocked()
	s.progress = line
	s.showLocked()
}

// setPanel replaces the panel: lines of out that stand below everything else, and above
// the line of progress; none removes it. Without a terminal there is none.
func (s *screen) setPanel(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.wide || slices.Equal(lines, s.panel) {
		return
	}
	s.hideLocked()
	s.panel = lines
	s.showLocked()
}

// fit cuts a line of progress to the width of the terminal, for it must not be
// broken, and makes it stand back behind the rest.
func (s *screen) fit(line string) string {
	if w := s.room(); w > 0 {
		line = shorten(line, w-1)
	}
	return s.dim.paint(faint, line)
}

// hideLocked and showLocked make room for text above the panel and the line of
// progress.
func (s *screen) hideLocked() {
	if s.progress != "" {
		_, _ = io.WriteString(s.notes, eraseLine)
	}
	if len(s.panel) > 0 {
		_, _ = fmt.Fprintf(s.out, eraseLines, occupied(s.panel, s.width()))
	}
}

func (s *screen) showLocked() {
	if len(s.panel) > 0 {
		_, _ = io.WriteString(s.out, strings.Join(s.panel, "\n")+"\n")
	}
	if s.progress != "" {
		_, _ = io.WriteString(s.notes, s.progress)
	}
}

// occupied is how many lines of a terminal some text takes: a window that has become
// narrower since then has broken it.
func occupied(lines []string, width int) int {
	n := len(lines)
	for _, line := range lines {
		if width > 0 {
			n += max(0, columns(colourCodes.ReplaceAllString(line, ""))-1) / width
		}
	}
	return n
}

var colourCodes = regexp.MustCompile("\x1b\\[[0-9;]*m")
