//go:build !setclock

package chaos

import "time"

// setClock sets the wall clock of the process, which takes a patched package time.
var setClock func(offset time.Duration)
