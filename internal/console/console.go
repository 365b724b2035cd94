// Package console is an output for tests: what a program writes there can be
// waited for.
//
// What may live here: what tests of programs need to follow their output. What
// may not: anything that is used outside tests.
package console

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience is how long a test waits for what must come.
const Patience = 30 * time.Second

// Console is a writer whose reader can wait for what will be written. It may be
// used by many goroutines.
type Console struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed by the next write
}

// New returns an empty console.
func New() *Console { return &Console{more: make(chan struct{})} }

// Write adds text. It cannot fail.
func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.more)
	c.more = make(chan struct{})
	return c.text.Write(p)
}

// String is everything that was written.
func (c *Console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// Await returns the first whole line that has all the parts, and waits for it. If
// it does not come, the test ends.
func (c *Console) Await(t testing.TB, parts ...string) string {
	t.Helper()
	var found string
	c.until(t, parts, func(text string) bool {
		for line := range strings.Lines(text) {
			if strings.HasSuffix(line, "\n") && hasAll(line, parts) {
				found = strings.TrimSuffix(line, "\n")
				return true
			}
		}
		return false
	})
	return found
}

// AwaitText waits for a text, in whatever line.
func (c *Console) AwaitText(t testing.TB, part string) {
	t.Helper()
	c.until(t, part, func(text string) bool { return strings.Contains(text, part) })
}

func (c *Console) until(t testing.TB, what any, there func(text string) bool) {
	t.Helper()
	deadline := time.After(Patience)
	for {
		c.mu.Lock()
		text, more := c.text.String(), c.more
		c.mu.Unlock()
		if there(text) {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("%q does not come; there is\n%s", what, text)
		}
	}
}

func hasAll(line string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(line, p) {
			return false
		}
	}
	return true
}
