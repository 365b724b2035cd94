package kinform_test

import (
	"context"
	"fmt"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
)

// The twelve lines of the README, on the embedded server.
func Example() {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	cfg := server.Config()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	createPod(ctx, server, "web", "node-7")

	pods, err := kinform.New[*corev1.Pod](cfg, kinform.Options{Namespaces: []string{"default"}})
	if err != nil {
		log.Fatal(err)
	}
	byNode, err := pods.AddIndex("node", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} })
	if err != nil {
		log.Fatal(err)
	}
	sub := pods.Subscribe(func(ctx context.Context, ev kinform.Event[*corev1.Pod]) {
		if pod, err := ev.New(); err == nil {
			fmt.Println(ev.Type, ev.Key, pod.Spec.NodeName)
		}
	}, kinform.SubscribeOptions{})
	go pods.Run(ctx)
	if err := sub.WaitSynced(ctx); err != nil {
		log.Fatal(err) // names the cause
	}
	for pod := range byNode.Get("node-7") {
		fmt.Println("on node-7:", pod.Name)
	}
	for key := range pods.Lister().Namespace("default").Select(labels.SelectorFromSet(labels.Set{"app": "web"})) {
		fmt.Println("selected:", key)
	}
	// Output:
	// added default/web node-7
	// on node-7: web
	// selected: default/web
}

// A second way to read the same objects needs no second watch.
func ExampleView() {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	createPod(ctx, server, "web", "node-7")

	pods, err := kinform.New[*corev1.Pod](server.Config(), kinform.Options{})
	if err != nil {
		log.Fatal(err)
	}
	metadata, err := kinform.View[*metav1.PartialObjectMetadata](pods)
	if err != nil {
		log.Fatal(err)
	}
	go pods.Run(ctx)
	if err := metadata.WaitSynced(ctx); err != nil {
		log.Fatal(err)
	}
	obj, err := metadata.Lister().Get("default/web")
	fmt.Println(obj.Kind, obj.Labels["app"], err)
	// Output: Pod web <nil>
}

// A struct of the program's own names the fields that it wants; nothing else is decoded.
func ExampleView_fields() {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	createPod(ctx, server, "web", "node-7")

	type placed struct {
		Spec struct {
			NodeName   string `json:"nodeName"`
			Containers []struct {
				Image string `json:"image"`
			} `json:"containers"`
		} `json:"spec"`
	}
	pods, err := kinform.New[*corev1.Pod](server.Config(), kinform.Options{})
	if err != nil {
		log.Fatal(err)
	}
	where, err := kinform.View[*placed](pods)
	if err != nil {
		log.Fatal(err)
	}
	go pods.Run(ctx)
	if err := where.WaitSynced(ctx); err != nil {
		log.Fatal(err)
	}
	pod, err := where.Lister().Get("default/web")
	fmt.Println(pod.Spec.NodeName, pod.Spec.Containers[0].Image, err)
	// Output: node-7 i <nil>
}

// What a clientset has written is read from the cache, at once and never older.
func ExampleWrites() {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	var writes kinform.Writes
	cfg := server.Config()
	cfg.Wrap(writes.Wrap)
	client := kubernetes.NewForConfigOrDie(cfg)
	maps, err := kinform.New[*corev1.ConfigMap](cfg, kinform.Options{})
	if err != nil {
		log.Fatal(err)
	}
	go maps.Run(ctx)

	colors := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "colors"}, Data: map[string]string{"sky": "blue"}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, colors, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	if err := maps.WaitForWrites(ctx, &writes); err != nil {
		log.Fatal(err)
	}
	held, err := maps.Lister().Get("default/colors")
	fmt.Println(held.Data["sky"], err)
	// Output: blue <nil>
}

func createPod(ctx context.Context, server *apisim.Server, name, node string) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	client := kubernetes.NewForConfigOrDie(server.Config())
	if _, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
}
