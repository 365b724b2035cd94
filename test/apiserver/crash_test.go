package apiserver

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// crashMode names the environment variable that turns the test binary into a
// program that starts a server and dies without closing it.
const crashMode = "KINFORM_TEST_CRASH"

// crash tells its parent what it has started, and dies as it is told.
func crash(mode string) {
	s, err := Start(Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Printf("started %d %s\n", s.watchdog.group(), s.dir)
	switch mode {
	case "panic":
		panic("a test panicked")
	case "exit":
		os.Exit(1)
	default: // waits for a signal
		select {}
	}
}

func TestACrashLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real kube-apiserver: left out by -short")
	}
	for _, c := range []struct {
		mode   string
		signal syscall.Signal
	}{
		{"panic", 0}, {"exit", 0}, {"interrupt", syscall.SIGINT}, {"kill", syscall.SIGKILL},
	} {
		t.Run(c.mode, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), crashMode+"="+c.mode)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			fields := strings.Fields(line)
			if err != nil || len(fields) != 3 || fields[0] != "started" {
				t.Fatalf("the child says %q (%v)", line, err)
			}
			group, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			if groupGone(group) {
				t.Fatalf("the group %d is not there while the child runs", group)
			}
			if c.signal != 0 {
				if err := cmd.Process.Signal(c.signal); err != nil {
					t.Fatal(err)
				}
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the child ended well")
			}
			awaitCleanUp(t, group, fields[2])
		})
	}
}

// awaitCleanUp polls, because nothing tells of the end of somebody else's
// processes.
func awaitCleanUp(t *testing.T, group int, dir string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := os.Stat(dir)
		folderGone := errors.Is(err, fs.ErrNotExist)
		if folderGone && groupGone(group) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("left behind: folder %s: %v, processes of group %d: %v", dir, !folderGone, group, !groupGone(group))
		}
	}
}
