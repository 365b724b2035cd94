package apiserver

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// A watchdog cleans up after a test binary that could not do it itself, because
// it panicked, timed out or was killed. It is a shell that waits for the end of
// its standard input, whose other end closes with the test binary, however that
// dies. It leads the process group that the servers join.
type watchdog struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// The shell ignores the signals that it sends to its own group. Removal is
// tried again because a server that is about to die may still write.
const watchdogScript = `trap '' TERM INT HUP
while read -r _; do :; done
kill -TERM 0
tries=0
until rm -rf "$1" || [ $tries -ge 50 ]; do tries=$((tries+1)); sleep 0.1; done
`

func startWatchdog(dir string) (*watchdog, error) {
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "kinform-watchdog", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the watchdog of the test servers: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the watchdog of the test servers: %w", err)
	}
	return &watchdog{cmd: cmd, stdin: stdin}, nil
}

func (w *watchdog) group() int { return w.cmd.Process.Pid }

// release lets the watchdog do its work and waits for it.
func (w *watchdog) release() error {
	if err := w.stdin.Close(); err != nil {
		return fmt.Errorf("release the watchdog of the test servers: %w", err)
	}
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("the watchdog of the test servers failed: %w", err)
	}
	return nil
}
