package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// jumps are what the wall clock is set to, relative to the right time. They are
// absolute, so that they do not add up; certificates are valid for an hour before
// and a day after they were made.
var jumps = []time.Duration{
	0, time.Second, -time.Second, 45 * time.Second, -45 * time.Second, 10 * time.Minute, -10 * time.Minute,
	50 * time.Minute, -50 * time.Minute, 6 * time.Hour, 20 * time.Hour,
}

// jumpAbout sets the wall clock of the process, a few times in a round. Programs see
// that in whatever they compute from the date; timers and what is measured with the
// monotonic clock go on. It needs a build with a clock that can be set: see
// package setclock.
func (r *run) jumpAbout(ctx context.Context, rng *rand.Rand) {
	if setClock == nil {
		return
	}
	for r.wild.Load() && ctx.Err() == nil {
		setClock(jumps[rng.IntN(len(jumps))])
		r.jumped.Add(1)
		r.sleep(ctx, time.Duration(rng.Int64N(int64(r.Round))))
	}
}

func (r *Report) clockNote() string {
	if setClock == nil {
		return "none, the program was not built for them"
	}
	return fmt.Sprintf("%d, of up to 20 hours", r.Faults[clockFault])
}

// clockFault is their name among the faults.
const clockFault = "wall clock set"
