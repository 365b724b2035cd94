// Command bench runs kinform and client-go side by side on one server and prints
// the ratios. Each run is a process of its own, so that its peak memory is its
// own, too; the two take turns; the median of the rounds counts.
//
//	go run . -objects 50000 -rounds 3
package main
