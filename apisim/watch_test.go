package apisim_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kinform/kinform/apisim"
)

// TestSlowWatchIsCut: a client that does not read is behind by more than the
// history, and its watch ends; others go on.
func TestSlowWatchIsCut(t *testing.T) {
	s := start(t, apisim.Options{History: 8})
	c := talk(t, s)
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s?watch=1&resourceVersion=0 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", configMaps); err != nil {
		t.Fatal(err)
	}
	quick := c.watch(configMaps + "?watch=1")
	const pieces = 40 // 20 MB: far more than the buffers on the way
	big := strings.Repeat("x", 500_000)
	c.object(201, "POST", configMaps, configMap("a"))
	quick.want("ADDED", "a")
	for i := range pieces {
		c.object(200, "PUT", configMaps+"/a", fmt.Sprintf(`{"metadata":{"name":"a"},"data":{"k":"%d%s"}}`, i, big))
		quick.want("MODIFIED", "a")
	}
	read, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	if len(read) == 0 || len(read) > pieces*len(big)*9/10 {
		t.Errorf("the slow watch was sent %d bytes of %d", len(read), pieces*len(big))
	}
}

// TestManyWatches: all see the same events, in the same order.
func TestManyWatches(t *testing.T) {
	const watches, writes = 50, 50
	s := start(t, apisim.Options{})
	c := talk(t, s)
	var streams []*stream
	for range watches {
		streams = append(streams, c.watch(configMaps+"?watch=1"))
	}
	var writers sync.WaitGroup
	for i := range writes {
		writers.Go(func() {
			if code, body := c.do("POST", configMaps, configMap(fmt.Sprint("c", i))); code != http.StatusCreated {
				t.Errorf("%d %s", code, body)
			}
		})
	}
	var want []string
	for i, w := range streams {
		var got []string
		for range writes {
			e, err := w.next()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Type+e.Object.GetName()+e.Object.GetResourceVersion())
		}
		if i == 0 {
			want = got
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("watch %d saw\n%v, the first\n%v", i, got, want)
		}
	}
	writers.Wait()
}

// TestInitialEventsMeetLaterOnes: what is written while the initial objects
// are sent comes after them, once.
func TestInitialEventsMeetLaterOnes(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				done <- n
				return
			default:
				c.object(201, "POST", configMaps, configMap(fmt.Sprint("c", n)))
				n++
			}
		}
	}()
	var watches []*stream
	for range 20 {
		watches = append(watches, c.watch(configMaps+"?watch=1&resourceVersion=0"))
	}
	close(stop)
	n := <-done
	c.object(201, "POST", configMaps, configMap("last"))
	for _, w := range watches {
		seen := map[string]bool{}
		for {
			e, err := w.next()
			if err != nil {
				t.Fatal(err)
			}
			name := e.Object.GetName()
			if seen[name] || e.Type != "ADDED" {
				t.Fatalf("%s of %s, which was seen: %v", e.Type, name, seen[name])
			}
			seen[name] = true
			if name == "last" {
				break
			}
		}
		if len(seen) != n+1 {
			t.Errorf("saw %d of %d", len(seen), n+1)
		}
	}
}

func TestConcurrentUpdates(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	a := c.object(201, "POST", configMaps, configMap("a"))
	var writers sync.WaitGroup
	codes := make(chan int, 20)
	for i := range 20 {
		writers.Go(func() {
			body := fmt.Sprintf(`{"metadata":{"name":"a","resourceVersion":%q},"data":{"k":"%d"}}`, a.GetResourceVersion(), i)
			code, _ := c.do("PUT", configMaps+"/a", body)
			codes <- code
		})
	}
	writers.Wait()
	close(codes)
	count := map[int]int{}
	for code := range codes {
		count[code]++
	}
	if count[200] != 1 || count[409] != 19 {
		t.Errorf("answers: %v", count)
	}
}

// TestWatchFromTheFuture: a watch tells of what comes after its version, and
// not of what gets the version.
func TestWatchFromTheFuture(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	w := c.watch(fmt.Sprintf("%s?watch=1&resourceVersion=%d", configMaps, s.ResourceVersion()+2))
	for _, name := range []string{"before", "at", "after"} {
		c.object(201, "POST", configMaps, configMap(name))
	}
	w.want("ADDED", "after")
}

// TestBusyWatchEnds: a watch that is never idle ends in time all the same.
func TestBusyWatchEnds(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	w := c.watch(configMaps + "?watch=1&timeoutSeconds=1")
	c.object(201, "POST", configMaps, configMap("a"))
	stop := make(chan struct{})
	var writing sync.WaitGroup
	for i := range 2 {
		writing.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					c.do("PUT", configMaps+"/a", fmt.Sprintf(`{"metadata":{"name":"a"},"data":{"k":"%d of %d"}}`, n, i))
				}
			}
		})
	}
	if err := w.ended(); err != io.EOF {
		t.Errorf("the watch ended with %v", err)
	}
	close(stop)
	writing.Wait()
}
