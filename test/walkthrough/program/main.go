// Command program is what every walk-through of informers shows: it follows the
// StatefulSets of a cluster and prints what happens to them.
//
// It is written for client-go. The test beside it builds it a second time with
// nothing but the import paths changed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/homedir"
)

func main() {
	kubeconfig := flag.String("kubeconfig", filepath.Join(homedir.HomeDir(), ".kube", "config"), "path of the kubeconfig file, for use outside of a cluster")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := follow(ctx, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// configure takes the configuration of the cluster that it runs in, or else of the file.
func configure(kubeconfig string) (*rest.Config, error) {
	if config, err := rest.InClusterConfig(); err == nil {
		return config, nil
	}
	return clientcmd.BuildConfigFromFlags("", kubeconfig)
}

func follow(ctx context.Context, kubeconfig string) error {
	config, err := configure(kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 30*time.Second,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "!hidden" }))
	statefulSets := factory.Apps().V1().StatefulSets()
	informer, lister := statefulSets.Informer(), statefulSets.Lister()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { say("add", obj, fmt.Sprintf("initial=%t", initial)) },
		UpdateFunc: func(old, obj any) { say("update", obj, "from "+describe(old)) },
		DeleteFunc: func(obj any) { say("delete", obj, "") },
	})
	if err != nil {
		return err
	}

	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		fmt.Println("synced", kind, synced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return context.Cause(ctx)
	}
	list, err := lister.StatefulSets("default").List(labels.Everything())
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b *appsv1.StatefulSet) int { return strings.Compare(a.Name, b.Name) })
	for i, s := range list {
		fmt.Printf("list %d: %s\n", i+1, describe(s))
	}
	one, err := lister.StatefulSets("default").Get("none")
	fmt.Println("get none:", one, err)

	<-ctx.Done()
	factory.Shutdown()
	fmt.Println("stopped", informer.IsStopped())
	return nil
}

func say(what string, obj any, more string) {
	fmt.Println(time.Now().Format(time.RFC3339Nano), what, describe(obj), more)
}

func describe(obj any) string {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return "last known " + describe(tombstone.Obj)
	}
	s := obj.(*appsv1.StatefulSet)
	return fmt.Sprintf("%s/%s version %s, %d replicas of %s, kind %q", s.Namespace, s.Name, s.ResourceVersion,
		*s.Spec.Replicas, s.Spec.Template.Spec.Containers[0].Image, s.Kind)
}
