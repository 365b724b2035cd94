package cli

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWidthOfATerminal: the window's own width counts, as it is at the moment; then
// COLUMNS.
func TestWidthOfATerminal(t *testing.T) {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	width := widthOf(f)
	t.Setenv("COLUMNS", "")
	if got := width(); got != usualWidth {
		t.Errorf("it does not know: got %d, want %d", got, usualWidth)
	}
	t.Setenv("COLUMNS", "97")
	if got := width(); got != 97 {
		t.Errorf("COLUMNS=97: got %d", got)
	}
	for _, want := range []uint16{120, 61} {
		if err := unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: want, Row: 24}); err != nil {
			t.Fatal(err)
		}
		if got := width(); got != int(want) {
			t.Errorf("a window of %d columns: got %d", want, got)
		}
	}
}
