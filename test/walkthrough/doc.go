// Package walkthrough holds the program of the walk-throughs, which is compiled
// twice: as it is, and with client-go's import paths changed to kinform's. Its
// test runs both against one server and compares what they print.
package walkthrough
