// Command statefulsets watches the StatefulSets of a cluster: it prints what is
// added, updated and deleted, and when the cache is complete it lists those of
// the namespace default. It runs until it is stopped.
//
//	go run ./examples/statefulsets --kubeconfig ~/.kube/config
//
// Without a cluster, start one in another terminal first:
//
//	go run ./cmd/kinform demo --write-kubeconfig demo.yaml
package main

import (
	"context"
	"flag"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/homedir"

	"github.com/kinform/kinform"
)

func main() {
	kubeconfig := flag.String("kubeconfig", filepath.Join(homedir.HomeDir(), ".kube", "config"), "used outside of a cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cfg, err := config(*kubeconfig)
	if err == nil {
		err = run(ctx, cfg, os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// config is what a pod finds in its cluster, or else a kubeconfig.
func config(kubeconfig string) (*rest.Config, error) {
	if cfg, err := rest.InClusterConfig(); err == nil {
		return cfg, nil
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}

// syncTimeout is how long the first list may take.
const syncTimeout = time.Minute

// run watches until ctx ends.
func run(ctx context.Context, cfg *rest.Config, out io.Writer) error {
	// A logger writes the time, and may be used by many goroutines.
	say := log.New(out, "", log.LstdFlags)

	// A factory shares informers, and starts and stops them together. With one
	// informer, kinform.New and its Run would do as well.
	factory, err := kinform.NewFactory(cfg, kinform.Options{})
	if err != nil {
		return err
	}
	sets, err := kinform.For[*appsv1.StatefulSet](factory, kinform.Options{})
	if err != nil {
		return err
	}

	// The handler is called for what is there, then for each change, one call at a
	// time. Kind and Key cost nothing; New and Old decode the object.
	handle := func(_ context.Context, ev kinform.Event[*appsv1.StatefulSet]) { report(say, ev) }
	sub := sets.Subscribe(handle, kinform.SubscribeOptions{Resync: 30 * time.Second})

	if err := factory.Start(ctx); err != nil {
		return err
	}
	defer factory.Shutdown() // returns when every handler has

	// Wait until every object of the initial list was delivered. When the time is up,
	// the error gives the cause: forbidden, unreachable, …
	wait, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	if err := sub.WaitSynced(wait); err != nil {
		return err
	}

	// The lister reads from memory. Objects come in no order.
	var names []string
	for _, set := range sets.Lister().Namespace("default").All() {
		names = append(names, set.Name)
	}
	slices.SortFunc(names, strings.Compare)
	say.Printf("%d StatefulSets in the namespace default:", len(names))
	for i, name := range names {
		say.Printf("%3d. %s", i+1, name)
	}

	<-ctx.Done()
	return nil
}

// report says what happened to a StatefulSet.
func report(say *log.Logger, ev kinform.Event[*appsv1.StatefulSet]) {
	now, err := ev.New()
	if err != nil {
		return // it is no StatefulSet, which the log and Status say
	}
	switch ev.Type {
	case kinform.EventAdded:
		say.Printf("added    %s, %d replicas", ev.Key, replicas(now))
	case kinform.EventUpdated:
		old, err := ev.Old()
		if err != nil {
			old = now
		}
		say.Printf("updated  %s, %d of %d replicas ready, was %d of %d", ev.Key,
			now.Status.ReadyReplicas, replicas(now), old.Status.ReadyReplicas, replicas(old))
	case kinform.EventResynced:
		say.Printf("still    %s", ev.Key)
	case kinform.EventDeleted:
		say.Printf("deleted  %s", ev.Key)
	}
}

// replicas is how many pods a set shall have.
func replicas(set *appsv1.StatefulSet) int32 {
	if set.Spec.Replicas == nil {
		return 1 // the API's default
	}
	return *set.Spec.Replicas
}
