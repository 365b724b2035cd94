package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/console"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startServer(t *testing.T) *apisim.Server {
	t.Helper()
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func TestCustomResource(t *testing.T) {
	server := startServer(t)
	for range 2 { // the second time, everything exists
		if err := createAll(t.Context(), server.Config()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	out, ended := console.New(), make(chan error, 1)
	go func() { ended <- run(ctx, server.Config(), out) }()

	out.Await(t, `added    default/users-96: users at "*/15 * * * *", 96 kept, last success never`)
	out.Await(t, `database orders: ["default/orders-12" "default/orders-7"]`)
	out.Await(t, `database users: ["default/users-96"]`)

	client := dynamic.NewForConfigOrDie(server.Config()).Resource(backups).Namespace("default")
	patch := `{"spec":{"keep":8},"status":{"lastSuccess":"2026-03-14T09:26:53Z"}}`
	if _, err := client.Patch(t.Context(), "orders-7", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	out.Await(t, `updated  default/orders-7: orders at "0 2 * * *", 8 kept, last success 2026-03-14T09:26:53Z`)
	if err := client.Delete(t.Context(), "users-96", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	out.Await(t, "deleted  default/users-96")

	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v, want a good end", err)
	}
}

func TestNoSuchResource(t *testing.T) {
	server := startServer(t)
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	err := run(ctx, server.Config(), console.New())
	if err == nil || !strings.Contains(err.Error(), "no-resource") {
		t.Errorf("got %v, want the cause", err)
	}
}
