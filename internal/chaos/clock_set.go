//go:build setclock

package chaos

import (
	"sync/atomic"
	"time"
	_ "unsafe" // for go:linkname
)

// wallOffset is added to the seconds of time.Now by the patched package time.
//
//go:linkname wallOffset time.wallOffset
var wallOffset int64

// setClock sets the wall clock of the process.
var setClock = func(offset time.Duration) { atomic.StoreInt64(&wallOffset, int64(offset/time.Second)) }
