package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// managed is a program of Kubernetes that runs beside this one and is measured from
// outside, as the system sees it.
type managed struct {
	dir   string // its files: configuration, certificate, log
	pid   string
	port  int
	began time.Time
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // how it ended; to be read after ended
}

// startManaged starts a program and waits until it says that it is healthy.
func startManaged(ctx context.Context, s server, program string, flags ...string) (*managed, error) {
	// The program is to end with the thread that started it.
	runtime.LockOSThread()
	dir, err := os.MkdirTemp("", "kinform-bench-")
	if err != nil {
		return nil, err
	}
	m := &managed{dir: dir, ended: make(chan struct{})}
	if m.port, err = freePort(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(s.kubeconfig()), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer log.Close()
	m.cmd = exec.Command(program, append([]string{
		"--kubeconfig=" + kubeconfig,
		"--cert-dir=" + dir,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(m.port),
		"--authorization-always-allow-paths=/healthz,/metrics,/debug/pprof/*",
		"--leader-elect=false",
	}, flags...)...)
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	m.began = time.Now()
	if err := m.cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	m.pid = strconv.Itoa(m.cmd.Process.Pid)
	go func() { m.err = m.cmd.Wait(); close(m.ended) }()
	return m, m.waitHealthy(ctx)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// kubeconfig is how a program of Kubernetes is told of the server.
func (s server) kubeconfig() string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "bench",
"clusters": [{"name": "bench", "cluster": {"server": %q, "certificate-authority-data": %q}}],
"users": [{"name": "bench", "user": {"token": %q}}],
"contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}]}`,
		s.Host, base64.StdEncoding.EncodeToString(s.CA), s.Token)
}

func (m *managed) waitHealthy(ctx context.Context) error {
	for {
		if _, err := m.get(ctx, "/healthz"); err == nil {
			return nil
		}
		if err := m.pause(ctx, 200*time.Millisecond); err != nil {
			return errors.Join(err, m.stop())
		}
	}
}

// pause waits. It is an error if the program ends meanwhile.
func (m *managed) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.ended:
		return fmt.Errorf("the program ended: %w\n%s", m.err, m.lastWords())
	}
}

func (m *managed) lastWords() []byte {
	log, err := os.ReadFile(filepath.Join(m.dir, "log"))
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(log[max(0, len(log)-4<<10):])
}

// stop ends the program and removes its files.
func (m *managed) stop() error {
	_ = m.cmd.Process.Kill() // it complains only of a process that is gone
	<-m.ended
	return os.RemoveAll(m.dir)
}

// get asks the program itself.
func (m *managed) get(ctx context.Context, path string) ([]byte, error) {
	// Its certificate is its own, made at each start.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", m.port, path), nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200s", path, res.Status, body)
	}
	return body, err
}

// profile writes a profile that the program makes of itself, if profiles are wanted.
// The name is that of the step.
func (m *managed) profile(ctx context.Context, t task, step, path string) error {
	if t.Profile == "" {
		return nil
	}
	body, err := m.get(ctx, path)
	if err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(t.Profile, ".prof")+"-"+step+".prof", body, 0o644)
}

// status is a figure of the program's memory, in bytes.
func (m *managed) status(word string) float64 {
	v, err := procStatus(m.pid, word)
	if err != nil {
		return 0 // it has ended, which pause reports
	}
	return v
}

func (m *managed) resident() float64 { return m.status("VmRSS:") }
func (m *managed) peak() float64     { return m.status("VmHWM:") }

// cpu is the time that the program has computed so far, in seconds.
func (m *managed) cpu() float64 {
	text, err := os.ReadFile("/proc/" + m.pid + "/stat")
	if err != nil {
		return 0
	}
	// After the name, which is in parentheses, utime and stime are the 12th and 13th.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks float64
	for _, f := range fields[11:13] {
		v, _ := strconv.ParseFloat(f, 64)
		ticks += v
	}
	return ticks / 100 // as Linux counts for programs, whatever it is built with
}

// waitQuiet waits until the program has computed next to nothing for five seconds: it
// has done what it was asked to.
func (m *managed) waitQuiet(ctx context.Context) error {
	const window, most = 5, 180
	past := []float64{m.cpu()}
	for range most {
		if err := m.pause(ctx, time.Second); err != nil {
			return err
		}
		past = append(past, m.cpu())
		if n := len(past); n > window && past[n-1]-past[n-1-window] < 0.25 {
			return nil
		}
	}
	return fmt.Errorf("the program still computes after %d s: %.1f s in the last five", most, past[most]-past[most-window])
}

// series is the program's memory over some time, second by second.
type series []float64

// during samples the program's memory while something is done.
func (m *managed) during(do func() error) (series, error) {
	var all series
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				all = append(all, m.resident())
			case <-stop:
				return
			}
		}
	}()
	err := do()
	close(stop)
	<-stopped
	return append(all, m.resident()), err
}

func (s series) mean() float64 {
	sum := 0.
	for _, v := range s {
		sum += v
	}
	return sum / float64(len(s))
}

// last are those of the last seconds.
func (s series) last(seconds int) series { return s[max(0, len(s)-seconds):] }
