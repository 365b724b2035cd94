// The program build builds etcd, kube-apiserver and kubectl for the tests into
// the user's cache folder, and does nothing when they are there. Run it in
// test/apiserver: go run ./cmd/build.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kinform/kinform/test/apiserver/servers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := servers.Build(ctx, "servers", os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
