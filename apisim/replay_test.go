package apisim_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/apisim"
)

// TestReplay makes random changes from several clients while watches start at
// any time, with and without selectors. What each of them has heard must add
// up to what the server lists in the end.
func TestReplay(t *testing.T) {
	const writers, steps, keys = 4, 150, 12
	s := start(t, apisim.Options{BookmarkInterval: 50 * time.Millisecond})
	c := talk(t, s)
	var writing sync.WaitGroup
	begin := make(chan struct{}, writers*steps)
	for w := range writers {
		writing.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for range steps {
				changeSomething(c, random, keys)
				begin <- struct{}{}
			}
		})
	}
	queries := []string{"", "&labelSelector=colour%3Dred", "&labelSelector=colour", "&fieldSelector=metadata.name%3Dk3", "&labelSelector=colour!%3Dred"}
	var replays []*replay
	for i := range 15 {
		for range writers * steps / 20 {
			<-begin
		}
		replays = append(replays, startReplay(c, queries[i%len(queries)], i%2 == 0))
	}
	writing.Wait()
	end := c.object(http.StatusCreated, "POST", configMaps, `{"metadata":{"name":"end","labels":{"colour":"red"}}}`).GetResourceVersion()
	for _, r := range replays {
		r.until(end)
		want := listed(c.object(200, "GET", configMaps+"?resourceVersionMatch=Exact&resourceVersion="+end+r.query, ""))
		if !maps.Equal(r.seen, want) {
			t.Errorf("the watch of %q has heard of\n%v, the server has\n%v", r.query, r.seen, want)
		}
	}
}

// changeSomething creates, changes, relabels or deletes one of the keys.
func changeSomething(c *conversation, random *rand.Rand, keys int) {
	name := fmt.Sprint("k", random.IntN(keys))
	colours := []string{`"colour":"red"`, `"colour":"blue"`, ``}
	body := fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%s}},"data":{"n":"%d"}}`, name, colours[random.IntN(3)], random.IntN(3))
	switch random.IntN(4) {
	case 0:
		c.do("POST", configMaps, body)
	case 1, 2:
		c.do("PUT", configMaps+"/"+name, body)
	case 3:
		c.do("DELETE", configMaps+"/"+name, "")
	}
}

// replay is a client's view: the versions of the objects it has heard of.
type replay struct {
	*stream
	query string
	seen  map[string]string
}

// startReplay lists and watches, or watches with initial events.
func startReplay(c *conversation, query string, list bool) *replay {
	r := &replay{query: query, seen: map[string]string{}}
	if !list {
		r.stream = c.watch(configMaps + "?watch=1&allowWatchBookmarks=true&resourceVersion=0" + query)
		return r
	}
	first := c.object(200, "GET", configMaps+"?limit=500"+query, "")
	r.seen = listed(first)
	r.stream = c.watch(configMaps + "?watch=1&allowWatchBookmarks=true&resourceVersion=" + first.GetResourceVersion() + query)
	return r
}

func listed(list *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	_ = list.EachListItem(func(o runtime.Object) error {
		item := o.(*unstructured.Unstructured)
		out[item.GetName()] = item.GetResourceVersion()
		return nil
	})
	return out
}

// until reads events up to a version. A watch that does not see the last
// object learns of the version through a bookmark.
func (r *replay) until(version string) {
	r.Helper()
	end, _ := strconv.ParseUint(version, 10, 64)
	for last := uint64(0); last < end; {
		e, err := r.next()
		if err != nil {
			r.Fatal(err)
		}
		now, _ := strconv.ParseUint(e.Object.GetResourceVersion(), 10, 64)
		if now < last && e.Type != "ADDED" { // initial objects are in the order of their names
			r.Fatalf("%s of version %d after %d", e.Type, now, last)
		}
		name := e.Object.GetName()
		_, known := r.seen[name]
		switch e.Type {
		case "ADDED", "MODIFIED":
			if known != (e.Type == "MODIFIED") {
				r.Fatalf("%s of %s, known: %v", e.Type, name, known)
			}
			r.seen[name] = e.Object.GetResourceVersion()
		case "DELETED":
			if !known {
				r.Fatalf("DELETED of %s, which was not there", name)
			}
			delete(r.seen, name)
		}
		last = max(last, now)
	}
}
