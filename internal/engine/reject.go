package engine

import (
	"strings"
	"sync"
)

// Log writes to a log: the message, and pairs of names and values. It has slog's
// signature, so that slog and logr fit.
type Log func(message string, args ...any)

// longest is how much of a text is logged: what a server sends may be of any
// length.
const longest = 8 << 10

func (l Log) line(message string, args ...any) {
	if l == nil {
		return
	}
	for i, a := range args {
		switch a := a.(type) {
		case error:
			if text := a.Error(); len(text) > longest {
				args[i] = cut(text)
			}
		case string:
			args[i] = cut(a)
		}
	}
	l(message, args...)
}

// cut shortens a text that is too long.
func cut(text string) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// rejects counts the objects that could not be scanned, decoded or indexed.
type rejects struct {
	mu    sync.Mutex
	count uint64
	last  error
}

// RejectedMessage is what is logged of objects that are left out.
const RejectedMessage = "object rejected"

func (c *Collection) reject(key string, err error) {
	c.rejected.mu.Lock()
	c.rejected.count++
	n := c.rejected.count
	c.rejected.last = err
	c.rejected.mu.Unlock()
	c.observe(Observation{Point: PointRejected, Key: key, Err: err})
	// Each power of two: a flood of bad objects does not flood the log.
	if n&(n-1) == 0 {
		c.log.line(RejectedMessage, "key", key, "error", err, "rejected", n)
	}
}

// Rejected returns how many objects were rejected, and why the last one was.
func (c *Collection) Rejected() (uint64, error) {
	c.rejected.mu.Lock()
	defer c.rejected.mu.Unlock()
	return c.rejected.count, c.rejected.last
}
