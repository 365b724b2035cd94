package check_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/check"
)

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	client := kubernetes.NewForConfigOrDie(server.Config())
	pods, err := kinform.New[*corev1.Pod](server.Config(), kinform.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}

	c := check.New(pods, check.Options{List: func(ctx context.Context) (runtime.Object, error) {
		return client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	}})
	c.Subscribe(check.Subscriber{Name: "every"})
	c.Subscribe(check.Subscriber{Name: "latest", Latest: true})

	run, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- pods.Run(run) }()
	for i := range 10 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i)},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}}
		if _, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			fmt.Println(err)
		}
	}
	server.Restart() // watches break

	fmt.Println("compared:", c.Compare(ctx))
	c.Stop()
	stop()
	fmt.Println("ended:", <-ended)
	fmt.Println("violations:", c.Err())
	// Output:
	// compared: <nil>
	// ended: <nil>
	// violations: <nil>
}
