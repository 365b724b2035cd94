// Command kinform watches a Kubernetes cluster change. See package cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kinform/kinform/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	os.Exit(cli.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
