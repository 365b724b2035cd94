package cli

import (
	"io"
	"os"
	"strconv"
	"sync"

	"golang.org/x/term"
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
	room    func() int // of notes

	mu       sync.Mutex
	out      io.Writer
	notes    io.Writer
	live     bool   // notes is a terminal
	progress string // what stands in the line of progress; "" if there is none
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
		width:   widthOf(out),
		room:    widthOf(notes),
	}
}

// usualWidth is that of a terminal that does not say how wide it is.
const usualWidth = 80

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

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

const eraseLine = "\r\x1b[K"

// print writes text that was asked for.
func (s *screen) print(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hideLocked()
	_, err := io.WriteString(s.out, text)
	s.showLocked()
	return err
}

// note writes a line about what the program does. A failure to write it is no
// reason to stop.
func (s *screen) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hideLocked()
	_, _ = io.WriteString(s.notes, line+"\n")
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

// fit cuts a line of progress to the width of the terminal, for it must not be
// broken, and makes it stand back behind the rest.
func (s *screen) fit(line string) string {
	if w := s.room(); w > 0 {
		line = shorten(line, w-1)
	}
	return s.dim.paint(faint, line)
}

// hideLocked and showLocked make room for text above the line of progress.
func (s *screen) hideLocked() {
	if s.progress != "" {
		_, _ = io.WriteString(s.notes, eraseLine)
	}
}

func (s *screen) showLocked() {
	if s.progress != "" {
		_, _ = io.WriteString(s.notes, s.progress)
	}
}
