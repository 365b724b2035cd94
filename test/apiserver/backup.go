package apiserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Backup keeps a copy of etcd's data as it is now, and returns what puts it back:
// after restore has returned, objects and versions are those of the backup, and
// whatever was written later has never been. Both processes are killed for it, as
// their memory would remember. The copy can be restored more than once.
//
// Etcd is stopped while the copy is made; kube-apiserver keeps its connections.
func (s *Server) Backup(ctx context.Context) (restore func(context.Context) error, err error) {
	var saved string
	err = s.locked(func() error {
		saved, err = os.MkdirTemp(s.dir, "backup-")
		if err != nil {
			return err
		}
		if err := s.etcdProcess.stop(ctx); err != nil {
			return err
		}
		copied := os.CopyFS(saved, os.DirFS(s.etcdData()))
		if err := errors.Join(copied, s.startEtcdLocked(ctx)); err != nil {
			return err
		}
		return s.awaitAPIServerLocked(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("back up etcd: %w", err)
	}
	return func(ctx context.Context) error { return s.restore(ctx, saved) }, nil
}

func (s *Server) restore(ctx context.Context, saved string) error {
	err := s.locked(func() error {
		// Nobody needs what they would still finish.
		if err := errors.Join(s.apiserverProcess.kill(), s.etcdProcess.kill()); err != nil {
			return err
		}
		if err := os.RemoveAll(s.etcdData()); err != nil {
			return err
		}
		if err := os.CopyFS(s.etcdData(), os.DirFS(saved)); err != nil {
			return err
		}
		if err := s.startEtcdLocked(ctx); err != nil {
			return err
		}
		return s.startAPIServerLocked(ctx)
	})
	if err != nil {
		return fmt.Errorf("restore etcd from %s: %w", saved, err)
	}
	return nil
}

// etcdData is where etcd keeps its data.
func (s *Server) etcdData() string { return filepath.Join(s.dir, "etcd") }
