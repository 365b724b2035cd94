package cli

import (
	"bytes"
	"os"
	"testing"
)

func TestScreenKeepsProgressBelowTheText(t *testing.T) {
	var b bytes.Buffer // a terminal shows both outputs in one place
	s := newScreen(&b, &b)
	s.live = true
	s.setProgress("1 of 2")
	s.setProgress("1 of 2") // nothing new
	if err := s.print("text\n"); err != nil {
		t.Fatal(err)
	}
	s.setProgress("2 of 2")
	s.note("done")
	s.setProgress("")
	s.note("end")
	want := "1 of 2" + eraseLine + "text\n1 of 2" + eraseLine + "2 of 2" + eraseLine + "done\n2 of 2" + eraseLine + "end\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestScreenWithoutTerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := newScreen(f, f)
	if s.colours.on || s.dim.on || s.live || s.width() != 0 {
		t.Errorf("a file is taken for a terminal: %+v", s)
	}
	s.setProgress("1 of 2")
	s.note(s.fit("done"))
	if raw, err := os.ReadFile(f.Name()); err != nil || string(raw) != "done\n" {
		t.Errorf("got %q, %v, want only the note", raw, err)
	}
}

func TestScreenKeepsThePanelBelowTheText(t *testing.T) {
	var b bytes.Buffer
	width := 10
	s := newScreen(&b, &b)
	s.wide, s.width = true, func() int { return width }
	s.setPanel([]string{"\x1b[1mA 12345678\x1b[0m", "B"})
	s.note("text")
	width = 5 // the first line is two now
	s.setPanel([]string{"C"})
	s.setPanel([]string{"C"}) // nothing new
	s.setPanel(nil)
	want := "\x1b[1mA 12345678\x1b[0m\nB\n" + "\x1b[2A\x1b[Jtext\n\x1b[1mA 12345678\x1b[0m\nB\n" + "\x1b[3A\x1b[JC\n" + "\x1b[1A\x1b[J"
	if got := b.String(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
