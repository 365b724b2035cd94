package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// errInterrupted ends a command that was interrupted before it had its answer.
var errInterrupted = errors.New("interrupted before the answer was there")

// timeUp ends a command whose time is up: one that was to last so long, or whose answer
// should have come by then.
type timeUp struct {
	flag  string // that says how long
	lasts time.Duration
}

func (e *timeUp) Error() string { return "the time is up: " + e.within() }

func (e *timeUp) within() string { return fmt.Sprintf("within %s %s", e.flag, e.lasts) }

// limited returns a context that ends after the time that a flag gives, if there is one.
func limited(ctx context.Context, flag string, lasts time.Duration) (context.Context, context.CancelFunc) {
	if lasts == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, lasts, &timeUp{flag, lasts})
}

// timeUpOf is how a context has ended, if it was by its time and not by Ctrl-C; else nil.
func timeUpOf(ctx context.Context) *timeUp {
	var up *timeUp
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &up) {
		return up
	}
	return nil
}

// lasting is --for: how long a command goes on that would do so for ever.
type lasting struct{ time.Duration }

func (l *lasting) flags(fl *pflag.FlagSet) {
	fl.DurationVar(&l.Duration, "for", 0, "end after this time, such as 30s (default: at Ctrl-C)")
}

func (l *lasting) check(cmd *cobra.Command) error {
	if l.Duration < 0 {
		return badUsage(cmd, fmt.Sprintf("--for %s is in the past", l))
	}
	return nil
}

func (l *lasting) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return limited(ctx, "--for", l.Duration)
}
