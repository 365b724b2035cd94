// Command bench runs kinform and client-go side by side, prints the ratios, and
// fails when one is worse than the limit that is kept beside it.
//
//	go run . -objects 50000 -rounds 3 -million -docs ../docs/evidence
//	go run . -objects 3000 -rounds 1 -only sync-pods,updates-1
//	go run . -objects 5000 -rounds 1 -idle 45s -only controller-manager
//	go run . -workloads -time 2m -docs ../docs/evidence
//	go run . -study
//
// Each run is a process of its own, so that its peak memory is its own, too; the
// sides take turns; the median of the rounds counts.
//
// Read benchmarks.go first: it has every piece of work, its sides, and its rows
// with their limits. What a child process does for one is in the function of
// that name in works (child.go). lab.go has the servers, report.go and chart.go
// what is printed and written.
//
// kube-controller-manager and kube-scheduler are built twice by package programs, as
// they are and with kinform's informer factories, and measured from outside
// (managed.go, controllermanager.go). With -profile the profiles are those that they
// make of themselves, of CPU and heap for each step; -kinform names another tree to
// build them with.
//
// The workloads are another program in the same house: see workloads.go here for
// what is compared, and internal/workloads for the loads and the subjects.
package main
