package engine

import (
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Backoff says how long to wait after failures. The zero value waits 0.8 s
// after the first failure, twice as long after each further one, at most 30 s,
// each time up to half as long again at random, so that many clients of one
// failing server do not come back together.
type Backoff struct {
	First time.Duration
	Most  time.Duration
}

// WithDefaults returns the backoff as it is used.
func (b Backoff) WithDefaults() Backoff {
	if b.First <= 0 {
		b.First = 800 * time.Millisecond
	}
	if b.Most <= 0 {
		b.Most = 30 * time.Second
	}
	b.First, b.Most = min(b.First, longestWait), min(b.Most, longestWait)
	return b
}

// longestWait stands for ever: larger numbers would overflow where they are multiplied.
const longestWait = 365 * 24 * time.Hour

func (b Backoff) delay(failures int, err error) time.Duration {
	b = b.WithDefaults()
	d := b.Most
	if doubled := max(failures-1, 0); doubled < 15 && b.First <= b.Most>>doubled {
		d = b.First << doubled
	}
	d += time.Duration(rand.Int64N(int64(d)/2 + 1))
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		d = max(d, time.Duration(seconds)*time.Second)
	}
	return d
}
