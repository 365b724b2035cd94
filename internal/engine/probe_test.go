package engine

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// replicated is a cluster of two API servers, one of which lags: it has seen the
// versions up to lags. Consistent reads are of what is stored.
type replicated struct {
	stored, lags uint64
	items        map[string]string
	asked        map[string]int // what was asked for
}

var tooLarge = status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge})

// list answers as the server that lags.
func (c *replicated) list(o ListOptions) (ListStream, error) {
	kind, items := "list", c.items
	if o.Probe {
		kind, items = "probe", nil
	}
	wanted := ParseVersion(o.ResourceVersion)
	switch {
	case o.ResourceVersion == "":
		c.asked["consistent "+kind]++
		return answer(fmt.Sprint(c.stored), items), nil
	case o.ResourceVersion == "0":
	case version(c.lags).Before(wanted):
		c.asked["cached "+kind+", too large"]++
		return nil, tooLarge
	}
	c.asked["cached "+kind]++
	return answer(fmt.Sprint(c.lags), items), nil
}

// TestProbe: after a watch broke, the server's cache is asked for its version. What
// only lags leads neither to a list nor to a new epoch; what went back leads to both.
func TestProbe(t *testing.T) {
	for _, c := range []struct {
		name         string
		stored, lags uint64
		want         map[string]int
		epochs       uint64
	}{
		{"the cache has our version", 80, 80, map[string]int{"cached probe": 1}, 0},
		{"the cache lags", 80, 60, map[string]int{"cached probe, too large": 1, "consistent probe": 1}, 0},
		{"the history went back", 60, 60, map[string]int{"cached probe, too large": 1, "consistent probe": 1, "consistent list": 1}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newPlaybook("70", map[string]string{"a": "u1@10"})
			scripted(t, s, ReflectorOptions{}, func(inf *Informer) {
				s.sends(modified("a", "u1@75"))
				cluster := &replicated{stored: c.stored, lags: c.lags, items: map[string]string{"a": "u1@10"}, asked: map[string]int{}}
				s.mu.Lock()
				s.list = cluster.list
				s.mu.Unlock()
				time.Sleep(2 * time.Second)
				s.sends(ends)
				if fmt.Sprint(cluster.asked) != fmt.Sprint(c.want) {
					t.Errorf("asked for %v, want %v", cluster.asked, c.want)
				}
				want := map[string]string{"a": "u1@75"}
				if c.epochs > 0 {
					want = cluster.items
				}
				holds(t, inf.Collection, want)
				if n := inf.Status()[0].Epochs; n != c.epochs {
					t.Errorf("%d epochs, want %d", n, c.epochs)
				}
			})
		})
	}
}

// TestLaggingServers: requests go to two servers in turns, of which one lags by up to
// 50 versions. The store never goes back, and no epoch begins.
func TestLaggingServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPlaybook("100", map[string]string{"a": "u1@100"})
		cluster := &replicated{stored: 100, lags: 100, items: map[string]string{"a": "u1@100"}, asked: map[string]int{}}
		s.list = func(o ListOptions) (ListStream, error) {
			if n := len(s.asked); n%2 == 0 {
				fresh := &replicated{stored: cluster.stored, lags: cluster.stored, items: cluster.items, asked: cluster.asked}
				return fresh.list(o)
			}
			old := *cluster
			old.items = map[string]string{"a": fmt.Sprintf("u1@%d", cluster.lags)}
			if o.ResourceVersion == "" {
				old.items = cluster.items // consistent is consistent
			}
			return old.list(o)
		}
		inf := NewInformer(Options{}, ReflectorOptions{Backoff: Backoff{First: time.Second, Most: time.Second}}, map[string]Source{"": s})
		defer playing(t, inf)()
		synctest.Wait()
		reached := uint64(0)
		for i := range uint64(200) {
			s.mu.Lock()
			cluster.stored++
			cluster.lags = max(cluster.lags, cluster.stored-min(i, 50))
			state := fmt.Sprintf("u1@%d", cluster.stored)
			cluster.items = map[string]string{"a": state}
			s.mu.Unlock()
			switch i % 5 {
			case 0:
				s.sends(ends)
			case 1:
				s.sends(forgets)
			case 2:
				s.sends(bookmarkAt(cluster.lags)) // of the one that lags
			default:
				s.sends(modified("a", state))
			}
			time.Sleep(3 * time.Second)
			now := inf.Get("ns/a").number
			if now < reached {
				t.Fatalf("the store went from version %d to %d", reached, now)
			}
			reached = now
		}
		s.sends(modified("a", fmt.Sprintf("u1@%d", cluster.stored)))
		holds(t, inf.Collection, cluster.items)
		st := inf.Status()[0]
		t.Logf("asked for %v; %d lists, %d stale events", cluster.asked, st.Lists, st.Stale)
		if st.Epochs != 0 {
			t.Errorf("%d epochs, though no history went back", st.Epochs)
		}
	})
}
