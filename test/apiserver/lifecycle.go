package apiserver

import (
	"context"
	"errors"
	"fmt"
)

var errClosed = errors.New("the test server is closed")

// StartEtcd starts etcd again, on the same port and data, and returns when it
// is ready, and kube-apiserver as well if that runs.
func (s *Server) StartEtcd(ctx context.Context) error {
	return s.locked(func() error {
		if err := s.startEtcdLocked(ctx); err != nil {
			return err
		}
		if !s.apiserverProcess.running() {
			return nil
		}
		return s.awaitAPIServerLocked(ctx)
	})
}

// StopEtcd asks etcd to end and waits for it. When ctx ends first, etcd is
// killed.
func (s *Server) StopEtcd(ctx context.Context) error {
	return s.locked(func() error { return s.etcdProcess.stop(ctx) })
}

// KillEtcd ends etcd with kill -9.
func (s *Server) KillEtcd() error {
	return s.locked(s.etcdProcess.kill)
}

// StartAPIServer starts kube-apiserver again, on the same port, and returns
// when it is ready. Etcd must be running.
func (s *Server) StartAPIServer(ctx context.Context) error {
	return s.locked(func() error { return s.startAPIServerLocked(ctx) })
}

// StopAPIServer asks kube-apiserver to end and waits for it; it ends its
// watches and finishes other requests. When ctx ends first, it is killed.
func (s *Server) StopAPIServer(ctx context.Context) error {
	return s.locked(func() error { return s.apiserverProcess.stop(ctx) })
}

// KillAPIServer ends kube-apiserver with kill -9: its connections break.
func (s *Server) KillAPIServer() error {
	return s.locked(s.apiserverProcess.kill)
}

// Restart stops what is running of the two processes and starts both.
func (s *Server) Restart(ctx context.Context) error {
	return s.locked(func() error {
		if err := s.apiserverProcess.stop(ctx); err != nil {
			return err
		}
		if err := s.etcdProcess.stop(ctx); err != nil {
			return err
		}
		if err := s.startEtcdLocked(ctx); err != nil {
			return err
		}
		return s.startAPIServerLocked(ctx)
	})
}

// RestartAPIServer stops kube-apiserver and starts it. Its watch cache begins
// again, at the present state of etcd.
func (s *Server) RestartAPIServer(ctx context.Context) error {
	return s.locked(func() error { return s.restartAPIServerLocked(ctx) })
}

func (s *Server) restartAPIServerLocked(ctx context.Context) error {
	if err := s.apiserverProcess.stop(ctx); err != nil {
		return err
	}
	return s.startAPIServerLocked(ctx)
}

func (s *Server) startEtcdLocked(ctx context.Context) error {
	if err := s.etcdProcess.start(); err != nil {
		return err
	}
	return s.await(ctx, s.etcdProcess, s.etcd.address+"/readyz")
}

func (s *Server) startAPIServerLocked(ctx context.Context) error {
	if !s.etcdProcess.running() {
		return errors.New("start kube-apiserver: etcd is not running, start it first")
	}
	if err := s.apiserverProcess.start(); err != nil {
		return err
	}
	return s.awaitAPIServerLocked(ctx)
}

// awaitAPIServerLocked waits for the namespace "default" too: readiness does
// not promise that it has been created.
func (s *Server) awaitAPIServerLocked(ctx context.Context) error {
	return s.await(ctx, s.apiserverProcess, s.address+"/readyz", s.address+"/api/v1/namespaces/default")
}

// await waits until all urls answer 200, at most for the start timeout.
func (s *Server) await(ctx context.Context, p *process, urls ...string) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.StartTimeout)
	defer cancel()
	for _, url := range urls {
		err := s.probe.await(ctx, p.current.exited, url)
		if errors.Is(err, errExited) {
			err = p.endedByItself(p.current)
			p.current = nil
			return err
		}
		if err != nil {
			return fmt.Errorf("wait until %s is ready: %w%s", p.name, err, p.lastWords())
		}
	}
	return nil
}

func (s *Server) locked(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	return f()
}
