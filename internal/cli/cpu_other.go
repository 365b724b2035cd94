//go:build !unix

package cli

import "time"

// cpuTime is what the process has taken of all cores; 0 where that is not known.
func cpuTime() time.Duration { return 0 }
