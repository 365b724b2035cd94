package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"k8s.io/client-go/rest"
)

// task is what a child process is asked to do, as JSON in its environment.
type task struct {
	Work     string // a name in works
	Side     string // who does it: clientGo, kinformTyped, kinformDropIn, or one of controllerruntime.go
	Kind     string // "typed", "unstructured" or "both", for custom resources; "store" or "informer", for indexers; "one" or "three", for forms; asks, for handlers
	Read     bool   // the handler reads each object; otherwise only its key
	Handlers int
	Updates  int
	Objects  int
	Server   server
	Profile  string // where to write a CPU profile, if anywhere
	Program  string // the program that is measured, if it is not this one
	Idle     time.Duration
}

// The sides of a task.
const (
	clientGo      = "client-go"
	kinformTyped  = "kinform"         // package kinform
	kinformDropIn = "kinform drop-in" // client-go's packages with kinform's import paths
	kinformTuned  = "kinform tuned"   // the same, on a client whose configuration was tuned
	kinformPlain  = "kinform plain"   // the same, on a client that asks for no compression
	kinformFields = "kinform fields"  // package kinform, with a struct of some fields
)

// server is what a child needs to reach the server.
type server struct {
	Host, Token string
	CA          []byte
	Audit       string // the file where it writes requests down, if it does
}

func (s server) config() *rest.Config {
	return &rest.Config{Host: s.Host, BearerToken: s.Token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: s.CA}}
}

// metrics is what a child measured: seconds, bytes, counts.
type metrics map[string]float64

const taskVariable = "KINFORM_BENCH_TASK"

// works are the tasks that a child knows.
var works = map[string]func(context.Context, task) (metrics, error){
	"verify-pods":   verifyPods,
	"verify-custom": verifyCustom,
	"sync-pods":     syncPods,
	"sync-custom":   syncCustom,
	"relist":        relist,
	"reads":         reads,
	"updates":       updates,
	"drain":         drain,
	"replace":       replace,
	"replace-list":  replaceByRelist,
	"update-list":   updateWhileListing,
	"growth":        growth,
	"weight":        weight,
	"warm":          warm,
	"warm-before":   warmBefore,
	"writes":        writes,

	"settle-cluster":     settleCluster,
	"managed-pods":       managedPods,
	"controllers-living": controllersLiving,
}

// child runs the task and prints what it measured.
func child(text string) error {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return err
	}
	work := works[t.Work]
	if work == nil {
		return fmt.Errorf("there is no work %q", t.Work)
	}
	if t.Profile != "" && t.Program == "" { // another program makes its own
		f, err := os.Create(t.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest-time.Minute)
	defer cancel()
	m, err := work(ctx, t)
	if err != nil {
		return fmt.Errorf("%s by %s: %w", t.Work, t.Side, err)
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}
