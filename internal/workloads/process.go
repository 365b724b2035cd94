package workloads

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// process is a child, as the parent sees it.
type process struct {
	subject Subject
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  bytes.Buffer
	last    reply
	failed  string // why nothing more is to be expected
	steps   []Sample
}

// start runs a child until it has synced.
func (r *run) start(ctx context.Context, s Subject) error {
	text, err := json.Marshal(task{Subject: s.Name, Host: r.server.URL(), Resources: r.workload.Resources, Use: r.workload.Use, Ceiling: r.Ceiling, Counted: r.Changes > 0})
	if err != nil {
		return err
	}
	p := &process{subject: s, cmd: exec.CommandContext(ctx, r.Program)}
	p.cmd.Env = append(os.Environ(), taskVariable+"="+string(text))
	p.cmd.WaitDelay = 10 * time.Second
	limit := "off"
	if s.Limited {
		limit = fmt.Sprint(r.workload.Limit)
	}
	p.cmd.Env = append(p.cmd.Env, "GOMEMLIMIT="+limit)
	p.cmd.Stderr = &p.stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return err
	}
	r.children = append(r.children, p)
	if p.hear(); p.failed != "" {
		return fmt.Errorf("%s: %s", s.Name, p.failed)
	}
	return nil
}

// say sends a command.
func (p *process) say(c command) {
	if p.failed != "" {
		return
	}
	text, err := json.Marshal(c)
	if err == nil {
		_, err = p.in.Write(append(text, '\n'))
	}
	_ = err // a child that has ended is noticed by hear, which knows why
}

// hear waits for the answer.
func (p *process) hear() {
	if p.failed != "" {
		return
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		p.failed = "ended before its time"
		return
	}
	var r reply
	if err := json.Unmarshal(line, &r); err != nil {
		p.failed = fmt.Sprintf("said %q", line)
		return
	}
	if r.Failed != "" {
		p.failed = r.Failed
	}
	p.last = r
}

func (p *process) report() Report {
	var r Report
	if p.last.Report != nil {
		r = *p.last.Report
	}
	if r.Failed == "" {
		r.Failed = p.failed
	}
	return r
}

// stop ends the child. What it wrote to its error output is reported if it failed.
func (p *process) stop() error {
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.subject.Name, err, p.stderr.Bytes())
	}
	return nil
}
