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

func (b Backoff) delay(failures int, err error) time.Duration {
	first, most := b.First, b.Most
	if first <= 0 {
		first = 800 * time.Millisecond
	}
	if most <= 0 {
		most = 30 * time.Second
	}
	d := most
	if failures < 16 {
		d = min(first<<max(failures-1, 0), most)
	}
	d += time.Duration(rand.Int64N(int64(d)/2 + 1))
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		d = max(d, time.Duration(seconds)*time.Second)
	}
	return d
}
