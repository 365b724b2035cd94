//go:build unix

package cli

import (
	"syscall"
	"time"
)

// cpuTime is what the process has taken of all cores; 0 where that is not known.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
