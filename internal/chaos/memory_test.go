package chaos

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// hour is an hour of samples whose heap and resident memory are what shape says.
func hour(shape func(at time.Duration) int64) Memory {
	m := Memory{Warmup: warmup}
	rng := rand.New(rand.NewPCG(1, 2))
	for at := sampleEvery; at <= time.Hour; at += sampleEvery {
		saw := rng.Int64N(60 << 20) // the collector
		v := shape(at)
		m.Samples = append(m.Samples, Sample{At: at, RSS: v + saw, Heap: v + saw/16, Goroutines: 300 + rng.Int64N(100)})
	}
	return m
}

func exceeded(m Memory) (names []string) {
	for _, g := range m.Growth() {
		if g.Exceeded() {
			names = append(names, g.Name)
		}
	}
	return names
}

func TestGrowth(t *testing.T) {
	const base = 100 << 20
	flat := func(time.Duration) int64 { return base }
	filling := func(at time.Duration) int64 { return base - max(0, int64(warmup-at))/int64(time.Minute)*(5<<20) }
	spike := func(at time.Duration) int64 {
		if at > 55*time.Minute && at < 56*time.Minute {
			return base + 500<<20
		}
		return base
	}
	leak := func(at time.Duration) int64 { return base + int64(at/(5*time.Second))*100<<10 }
	for _, c := range []struct {
		name  string
		shape func(time.Duration) int64
		want  int
	}{
		{"flat", flat, 0},
		{"filling up during the warm-up", filling, 0},
		{"a spike near the end", spike, 0},
		{"100 KB in five seconds", leak, 2},
	} {
		if got := exceeded(hour(c.shape)); len(got) != c.want {
			t.Errorf("%s: grown: %v, want %d series", c.name, got, c.want)
		}
	}
}

func TestGrowthOfShortRunIsNotJudged(t *testing.T) {
	m := hour(func(at time.Duration) int64 { return int64(at) })
	m.Samples = m.Samples[:len(m.Samples)/3]
	if got := exceeded(m); len(got) > 0 {
		t.Errorf("judged after ten minutes: %v", got)
	}
}

func TestSampleReadsTheProcess(t *testing.T) {
	s := takeSample(time.Second)
	if runtime.GOOS == "linux" && s.RSS < 1<<20 || s.Goroutines < 1 {
		t.Errorf("not what a process takes: %+v", s)
	}
}
