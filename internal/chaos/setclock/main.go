// Command setclock prepares a build whose wall clock can be set. It writes a copy of
// the part of package time that reads the clock, and prints the name of an overlay
// for the go command:
//
//	go test -tags setclock -overlay "$(go run ./internal/chaos/setclock)" ./internal/chaos
//
// A jump of the clock that other processes do not see cannot be had otherwise: time
// namespaces leave the wall clock alone, and Go programs do not ask a library that
// could be replaced. Only the date jumps, as when somebody sets the clock of a
// machine: the monotonic clock and all timers go on.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// What is changed in package time, and what is added to it.
const (
	reading = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	added   = `package time

import (
	"sync/atomic"
	_ "unsafe" // for go:linkname
)

// wallOffset is in seconds.
//
//go:linkname wallOffset
var wallOffset int64

func loadWallOffset() int64 { return atomic.LoadInt64(&wallOffset) }
`
)

func main() {
	name, err := write(runtime.GOROOT())
	if err != nil {
		fmt.Fprintln(os.Stderr, "setclock:", err)
		os.Exit(1)
	}
	fmt.Println(name)
}

// write writes the files of the overlay, always to the same place: the go command
// knows builds by it.
func write(goroot string) (string, error) {
	if goroot == "" {
		return "", errors.New("the folder of the Go distribution is not known: run it with go run")
	}
	original := filepath.Join(goroot, "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if strings.Count(string(text), reading) != 1 {
		return "", fmt.Errorf("%s reads the clock otherwise than expected: change package setclock", original)
	}
	patched := strings.Replace(string(text), reading, reading+"\tsec += loadWallOffset()\n", 1)
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "kinform", "setclock", runtime.Version())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	now, offset, overlay := filepath.Join(folder, "time.go"), filepath.Join(folder, "walloffset.go"), filepath.Join(folder, "overlay.json")
	spec, err := json.Marshal(map[string]any{"Replace": map[string]string{
		original: now,
		filepath.Join(goroot, "src", "time", "walloffset.go"): offset,
	}})
	if err != nil {
		return "", err
	}
	return overlay, errors.Join(
		os.WriteFile(now, []byte(patched), 0o644), os.WriteFile(offset, []byte(added), 0o644), os.WriteFile(overlay, spec, 0o644))
}
