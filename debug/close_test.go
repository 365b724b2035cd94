package debug

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a connection whose reader has stopped to read: a write waits until its deadline,
// which may be moved meanwhile.
type stuck struct {
	*httptest.ResponseRecorder
	reads int // how many writes are heard

	mu    sync.Mutex
	timer *time.Timer
	late  chan struct{} // closed at the deadline
}

func newStuck(reads int) *stuck {
	return &stuck{ResponseRecorder: httptest.NewRecorder(), reads: reads, late: make(chan struct{})}
}

func (s *stuck) SetWriteDeadline(at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timer = time.AfterFunc(time.Until(at), sync.OnceFunc(func() { close(s.late) }))
	return nil
}

func (s *stuck) Write(p []byte) (int, error) {
	if s.reads--; s.reads >= 0 {
		return s.ResponseRecorder.Write(p)
	}
	<-s.late
	return 0, errors.New("the deadline has passed")
}

// TestCloseEndsStreams: when Close has returned, no stream is open, whether its reader
// reads or not, and it takes no time.
func TestCloseEndsStreams(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		ended := make(chan string, 3)
		open := func(name, path string, to http.ResponseWriter) {
			go func() {
				w.page.ServeHTTP(to, request(path))
				ended <- name
			}()
		}
		open("overview", "live", httptest.NewRecorder())
		open("informer", "live?i=pods", httptest.NewRecorder())
		synctest.Wait()
		open("stuck", "live?i=pods", newStuck(1))
		synctest.Wait()
		began := time.Now()
		w.page.Close()
		if n := w.page.open; n != 0 {
			t.Errorf("%d streams are open after Close", n)
		}
		synctest.Wait()
		if took := time.Since(began); took != 0 || len(ended) != 3 {
			t.Errorf("Close took %v, and %d streams have ended, want no time and 3", took, len(ended))
		}
		if code := w.get("live").Code; code != http.StatusServiceUnavailable {
			t.Errorf("a stream of a closed page: %d, want 503", code)
		}
		w.page.Close() // again
	})
}

// unbounded is a stuck connection that knows no deadlines, as one behind another handler's
// ResponseWriter may be.
type unbounded struct {
	*httptest.ResponseRecorder
	released chan struct{}
}

func (u unbounded) Write([]byte) (int, error) {
	<-u.released
	return 0, errors.New("released")
}

// TestCloseDoesNotWaitForEver: a stream that nothing can end does not keep a program from
// ending, and leaves nothing behind when it ends later.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		to, ended := unbounded{httptest.NewRecorder(), make(chan struct{})}, make(chan struct{})
		go func() {
			defer close(ended)
			w.page.ServeHTTP(to, request("live"))
		}()
		synctest.Wait()
		began := time.Now()
		w.page.Close()
		if took := time.Since(began); took != readerPauses {
			t.Errorf("Close took %v, want %v", took, readerPauses)
		}
		close(to.released)
		<-ended
		w.page.Close()
		if took := time.Since(began); took != readerPauses || w.page.open != 0 {
			t.Errorf("after the stream's end Close took %v more, and %d are open", took-readerPauses, w.page.open)
		}
	})
}
