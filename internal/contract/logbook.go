package contract

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/kinform/kinform"
)

// logbook takes an informer's log. As kinform logs changes of state and nothing
// else, its lines are what a story can wait for.
type logbook struct {
	bell
	lines []line
}

type line struct {
	message string
	values  map[string]string
}

func (l line) String() string { return fmt.Sprintf("%s %v", l.message, l.values) }

func newLogbook() *logbook { return &logbook{} }

func (l *logbook) logger() *slog.Logger { return slog.New(logHandler{l}) }

type logHandler struct{ *logbook }

func (logHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h logHandler) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h logHandler) WithGroup(string) slog.Handler          { return h }

func (h logHandler) Handle(_ context.Context, r slog.Record) error {
	ln := line{message: r.Message, values: map[string]string{}}
	r.Attrs(func(a slog.Attr) bool {
		ln.values[a.Key] = a.Value.String()
		return true
	})
	h.change(func() { h.lines = append(h.lines, ln) })
	return nil
}

// mark is where the log stands now; later waits can start from it.
func (l *logbook) mark() (at int) {
	l.look(func() { at = len(l.lines) })
	return at
}

// find returns the first line from a mark on that contains a text and fits.
func (l *logbook) find(from int, text string, fits func(line) bool) (found line, ok bool) {
	for _, ln := range l.lines[from:] {
		if strings.Contains(ln.message, text) && (fits == nil || fits(ln)) {
			return ln, true
		}
	}
	return line{}, false
}

// awaitLine waits for a line of the log, from a mark on.
func (e *env) awaitLine(from int, text string, fits func(line) bool) line {
	e.Helper()
	var found line
	ok := e.log.await(e.ctx, func() (ok bool) {
		found, ok = e.log.find(from, text, fits)
		return ok
	})
	if !ok {
		e.log.look(func() { e.Fatalf("the log has no %q; it has: %v", text, e.log.lines[from:]) })
	}
	return found
}

// awaitFailure waits until the log has a failure of a kind, from a mark on.
func (e *env) awaitFailure(from int, r kinform.Reason) line {
	e.Helper()
	return e.awaitLine(from, "failed", func(ln line) bool { return ln.values["reason"] == string(r) })
}
