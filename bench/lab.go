package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/test/apiserver"
)

// Where the objects of a benchmark come from.
const (
	podServer    = "pods"   // the real server, with pods
	customServer = "custom" // the same one, with custom resources
	replayServer = "replay" // prebuilt answers, as fast as the socket takes them
	simServer    = "apisim" // an API server in memory

	clusterServer   = "cluster"   // the real server, with pods and all that belongs to them, which writes requests down
	livingServer    = "living"    // the same one without objects
	scheduledServer = "scheduled" // the same one as cluster, after a scheduler was there
)

// lab has the servers, each started when it is first asked for.
type lab struct {
	objects int

	real               *apiserver.Server
	pods, custom       bool // are on the real server
	cluster, scheduled bool
	folder             string // for what is built, and for files of the real server
	audit              string // where the real server writes requests down
	replay             *replay
	sim                *apisim.Server
	simObjects         int
	programs           map[string]string // by build tag
}

// program returns this program, built with a tag if there is one.
func (l *lab) program(ctx context.Context, tag string) (string, error) {
	if tag == "" {
		return os.Args[0], nil
	}
	if made := l.programs[tag]; made != "" {
		return made, nil
	}
	if err := l.ensureFolder(); err != nil {
		return "", err
	}
	made := filepath.Join(l.folder, tag)
	if _, _, err := goCommand(ctx, nil, "build", "-tags", tag, "-o", made, "."); err != nil {
		return "", err
	}
	if l.programs == nil {
		l.programs = map[string]string{}
	}
	l.programs[tag] = made
	return made, nil
}

func (l *lab) ensureFolder() (err error) {
	if l.folder == "" {
		l.folder, err = os.MkdirTemp("", "kinform-bench-")
	}
	return err
}

// server returns how to reach a server that has n objects.
func (l *lab) server(ctx context.Context, kind string, n int) (server, error) {
	switch kind {
	case podServer:
		return l.realWith(ctx, &l.pods, "verify-pods", populatePods)
	case customServer:
		return l.realWith(ctx, &l.custom, "verify-custom", populateCustom)
	case clusterServer:
		return l.clusterWith(ctx)
	case scheduledServer:
		return l.scheduledWith(ctx)
	case livingServer:
		return l.audited()
	case replayServer:
		return l.replayOf(n)
	case simServer:
		return l.simOf(n)
	}
	return server{}, nil
}

// realWith returns the real server after objects of a kind were put onto it, and
// kinform's cache of them was found equal to what the server lists.
func (l *lab) realWith(ctx context.Context, there *bool, verify string, populate func(context.Context, *apiserver.Server, int) error) (server, error) {
	if l.real == nil {
		var err error
		if l.real, err = apiserver.Start(apiserver.Options{}); err != nil {
			return server{}, err
		}
	}
	c := l.real.Config()
	s := server{Host: c.Host, Token: c.BearerToken, CA: c.CAData}
	if *there {
		return s, nil
	}
	*there = true
	began := time.Now()
	if err := populate(ctx, l.real, l.objects); err != nil {
		return s, err
	}
	fmt.Fprintf(os.Stderr, "%d objects on the server after %.0f s\n", l.objects, time.Since(began).Seconds())
	m, err := runChild(ctx, os.Args[0], task{Work: verify, Server: s, Objects: l.objects}, nil)
	if err != nil {
		return s, err
	}
	fmt.Fprintf(os.Stderr, "%.0f objects of kinform's cache are equal to what the server lists, field by field\n", m["equal"])
	return s, nil
}

func (l *lab) replayOf(n int) (server, error) {
	if l.replay != nil && l.replay.size() == n {
		return l.replay.server(), nil
	}
	if l.replay != nil {
		l.replay.close()
	}
	var err error
	l.replay, err = startReplay(n)
	if err != nil {
		return server{}, err
	}
	return l.replay.server(), nil
}

// simOf loads varied pods into a simulated server. The more there are, the more
// workloads and nodes they have.
func (l *lab) simOf(n int) (server, error) {
	if l.sim != nil && l.simObjects == n {
		return server{Host: l.sim.URL()}, nil
	}
	if l.sim != nil {
		_ = l.sim.Close()
	}
	var err error
	if l.sim, err = apisim.Start(apisim.Options{}); err != nil {
		return server{}, err
	}
	l.simObjects = n
	began := time.Now()
	g := objects.New(objects.Options{Seed: 1, Workloads: max(300, n/300), Nodes: max(100, n/100)})
	err = l.sim.Load(func(yield func(runtime.Object) bool) {
		for pod := range g.Pods(n) {
			if !yield(pod) {
				return
			}
		}
	})
	fmt.Fprintf(os.Stderr, "%d pods in the simulated server after %.0f s\n", n, time.Since(began).Seconds())
	return server{Host: l.sim.URL()}, err
}

// staysFor says whether what serves one benchmark is of use to the next.
func staysFor(one, next string) bool {
	return one == next || next == customServer || one == clusterServer && next == scheduledServer
}

// serverCPU returns the seconds of CPU that a server says it has taken, 0 if it does not
// say so.
func serverCPU(ctx context.Context, s server) (seconds float64) {
	if s.CA == nil {
		return 0
	}
	cfg := s.config()
	cfg.GroupVersion, cfg.NegotiatedSerializer = &schema.GroupVersion{}, scheme.Codecs
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return 0
	}
	text, err := client.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), "\nprocess_cpu_seconds_total ")
	line, _, _ := strings.Cut(after, "\n")
	seconds, _ = strconv.ParseFloat(line, 64)
	return seconds
}

// close stops every server that runs, and removes what was built.
func (l *lab) close() {
	if l.real != nil {
		if err := l.real.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "bench: the real server:", err)
		}
	}
	if l.replay != nil {
		l.replay.close()
	}
	if l.sim != nil {
		_ = l.sim.Close()
	}
	if l.folder != "" {
		_ = os.RemoveAll(l.folder)
	}
	*l = lab{objects: l.objects}
}
