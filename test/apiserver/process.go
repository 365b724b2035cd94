package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// A process is a server program that can be started again and again with the
// same arguments. It is guarded by Server.mu.
type process struct {
	name    string
	path    string
	args    []string
	logFile string // appended to by every run
	group   int    // the process group that the runs join
	current *run   // nil before the first start and after a stop
}

// A run is one life of a process.
type run struct {
	pid    int
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
	err    error         // how it ended; to be read after exited
}

func (p *process) running() bool {
	if p.current == nil {
		return false
	}
	select {
	case <-p.current.exited:
		return false
	default:
		return true
	}
}

func (p *process) start() error {
	if p.running() {
		return fmt.Errorf("start %s: it is running already", p.name)
	}
	log, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: open its log: %w", p.name, err)
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes(p.group)
	r := &run{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go r.live(started)
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.current = r
	return nil
}

// live starts the process and waits for its end. Where the system kills
// children of a dead parent, "parent" is the thread that started them; so the
// thread is kept for as long as the child lives.
func (r *run) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := r.cmd.Start()
	if err == nil {
		r.pid = r.cmd.Process.Pid
	}
	started <- err
	if err != nil {
		return
	}
	r.err = r.cmd.Wait()
	close(r.exited)
}

// stop asks the process to end and waits for it. When ctx ends first, the
// process is killed, and that is an error.
func (p *process) stop(ctx context.Context) error {
	return p.end(ctx, syscall.SIGTERM)
}

// kill ends the process without a warning and waits until it is gone.
func (p *process) kill() error {
	return p.end(context.Background(), syscall.SIGKILL)
}

// end does nothing for a process that is not meant to run. One that ended
// without being told to is an error, with the last words of its log.
func (p *process) end(ctx context.Context, signal syscall.Signal) error {
	r := p.current
	if r == nil {
		return nil
	}
	p.current = nil
	if err := r.cmd.Process.Signal(signal); errors.Is(err, os.ErrProcessDone) {
		<-r.exited
		return p.endedByItself(r)
	} else if err != nil {
		return fmt.Errorf("send %v to %s (pid %d): %w", signal, p.name, r.pid, err)
	}
	select {
	case <-r.exited:
		return nil
	case <-ctx.Done():
	}
	// The only thing that Kill can complain about is that the process is gone.
	_ = r.cmd.Process.Kill()
	<-r.exited
	return fmt.Errorf("%s (pid %d) did not end on %v and was killed: %w%s", p.name, r.pid, signal, ctx.Err(), p.lastWords())
}

func (p *process) endedByItself(r *run) error {
	how := "exit status 0"
	if r.err != nil {
		how = r.err.Error()
	}
	return fmt.Errorf("%s (pid %d) ended by itself: %s%s", p.name, r.pid, how, p.lastWords())
}

// lastWords is the end of the log, made to be appended to an error.
func (p *process) lastWords() string {
	const most = 4 << 10
	log, err := os.ReadFile(p.logFile)
	if err != nil {
		return fmt.Sprintf("\n(its log cannot be read: %v)", err)
	}
	if len(log) > most {
		log = log[len(log)-most:]
		if _, rest, ok := bytes.Cut(log, []byte("\n")); ok {
			log = rest
		}
	}
	return fmt.Sprintf("\nthe end of its log:\n%s", bytes.TrimSpace(log))
}
