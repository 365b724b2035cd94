// Command customresource watches objects of a custom resource, typed, with an
// index, and without generated code.
//
//	go run ./examples/customresource --kubeconfig ~/.kube/config --create
//
// With --create it first defines the resource and makes some objects of it.
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
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/homedir"

	"github.com/kinform/kinform"
)

func main() {
	kubeconfig := flag.String("kubeconfig", filepath.Join(homedir.HomeDir(), ".kube", "config"), "used outside of a cluster")
	create := flag.Bool("create", false, "define the resource and make some objects first")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cfg, err := config(*kubeconfig)
	if err == nil && *create {
		err = createAll(ctx, cfg)
	}
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
	say := log.New(out, "", log.LstdFlags)

	// All that a custom resource needs is its name. Where types are known to
	// Kubernetes, not even that.
	inf, err := kinform.New[*Backup](cfg, kinform.Options{Resource: backups})
	if err != nil {
		return err
	}

	// An index finds objects by what a function takes out of them.
	byDatabase, err := inf.AddIndex("database", func(b *Backup) []string { return []string{b.Spec.Database} })
	if err != nil {
		return err
	}

	sub := inf.Subscribe(func(_ context.Context, ev kinform.Event[*Backup]) {
		if ev.Type == kinform.EventDeleted {
			say.Printf("deleted  %s", ev.Key)
			return
		}
		b, err := ev.New()
		if err != nil {
			return // it does not fit Backup, which the log and Status say
		}
		say.Printf("%-7s  %s: %s at %q, %d kept, last success %s", ev.Type, ev.Key,
			b.Spec.Database, b.Spec.Schedule, b.Spec.Keep, since(b))
	}, kinform.SubscribeOptions{})

	// Run returns when everything that it started has ended.
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(running) }()
	defer func() { stop(); <-ended }()

	// Wait until every object of the initial list was delivered. If the resource
	// does not exist, the error says so.
	wait, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	if err := sub.WaitSynced(wait); err != nil {
		return err
	}
	for _, database := range slices.Sorted(slices.Values(byDatabase.Values())) {
		var names []string
		for b := range byDatabase.Get(database) {
			names = append(names, b.Namespace+"/"+b.Name)
		}
		slices.Sort(names)
		say.Printf("database %s: %q", database, names)
	}

	<-ctx.Done()
	return nil
}

func since(b *Backup) string {
	if b.Status.LastSuccess == nil {
		return "never"
	}
	return b.Status.LastSuccess.Format(time.RFC3339)
}
