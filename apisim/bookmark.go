package apisim

import "time"

// bookmarkTimer says when a watch owes a bookmark: at each interval, and
// shortly before the watch ends.
type bookmarkTimer struct {
	timer    *time.Timer // nil if no bookmarks were asked for
	interval time.Duration
	last     time.Time
}

func newBookmarkTimer(wanted bool, interval, end time.Duration) *bookmarkTimer {
	b := &bookmarkTimer{interval: interval, last: time.Now().Add(end - lastBookmark)}
	if wanted {
		b.timer = time.NewTimer(b.wait())
	}
	return b
}

// wait is the time to the next bookmark, never negative.
func (b *bookmarkTimer) wait() time.Duration {
	if left := time.Until(b.last); left > 0 {
		return min(b.interval, left)
	}
	return b.interval
}

func (b *bookmarkTimer) due() <-chan time.Time {
	if b.timer == nil {
		return nil
	}
	return b.timer.C
}

func (b *bookmarkTimer) again() { b.timer.Reset(b.wait()) }

func (b *bookmarkTimer) stop() {
	if b.timer != nil {
		b.timer.Stop()
	}
}
