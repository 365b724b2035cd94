package engine

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutineID returns the number of the calling goroutine, from the first line
// of its stack. It serves one purpose: Subscription.Stop must not wait for the
// handler that calls it, and Go has no other way to identify the caller. It is never
// on the path of an event.
func goroutineID() uint64 {
	var buf [64]byte
	line := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	digits, _, _ := bytes.Cut(line, []byte(" "))
	id, _ := strconv.ParseUint(string(digits), 10, 64)
	return id
}
