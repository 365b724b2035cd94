package memlimit

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestLetGo(t *testing.T) {
	defer func(f func()) { giveBack = f }(giveBack)
	synctest.Test(t, func(t *testing.T) {
		times := 0
		giveBack = func() { times++ }
		after := func(bytes int64, want int) {
			t.Helper()
			LetGo(bytes)
			synctest.Wait()
			if times != want {
				t.Fatalf("given back %d times, want %d", times, want)
			}
		}
		after(leastGivenBack-1, 0)
		after(1, 1)
		after(2*leastGivenBack, 1) // too soon
		<-time.After(restBetween)
		after(0, 2)
		<-time.After(restBetween)
		after(0, 2)
	})
}
