// Command subject is the other process of the tests of package workloads: the
// subjects, and the server with the load. It is an ordinary build, however the
// tests themselves are built; the race detector takes memory and time of its own.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/kinform/kinform/internal/workloads"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "subject:", err)
		os.Exit(1)
	}
}

// run is a subject, or runs the workload that it reads, and writes the result.
func run() error {
	if workloads.IsChild() {
		return workloads.Child()
	}
	var r workloads.Request
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		return err
	}
	r.Options.Program = os.Args[0]
	result, err := r.Run(context.Background())
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}
