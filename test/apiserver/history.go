package apiserver

import (
	"context"
	"fmt"
	"strconv"
)

// Keys in etcd, outside kube-apiserver's prefix.
const (
	// compactedKey is where the API servers of a cluster tell each other how far
	// etcd is compacted. They watch it, and drop snapshots from before.
	compactedKey = "compact_rev_key"
	fillerKey    = "kinform/compaction"
)

// Compact drops etcd's history up to now: everything that asks etcd for a
// version from before the call is told that it is gone (410).
//
// Most requests do not reach etcd, and what kube-apiserver keeps in memory stays
// good after a compaction:
//   - A watch is served by the watch cache, from any version since
//     kube-apiserver started (of a busy resource: from the last hundred events
//     or 75 seconds, whichever is more).
//   - A continue token, or a list at an exact version, is served from snapshots
//     of the watch cache, which are dropped up to 15 seconds after a compaction.
//
// So after Compact alone, an old watch gets 410 for a resource without a watch
// cache ("--watch-cache-sizes=secrets#0"), and an old continue token gets 410
// at once with "--feature-gates=ListFromCacheSnapshot=false", else within 15
// seconds. ForgetHistory makes kube-apiserver forget, too.
func (s *Server) Compact(ctx context.Context) error {
	return s.locked(func() error { return s.compactLocked(ctx) })
}

// ForgetHistory compacts etcd and restarts kube-apiserver, so that its memory
// begins again. After it, watches, continue tokens and exact lists with a
// version from before the call get 410 for every resource. Present objects are
// untouched.
func (s *Server) ForgetHistory(ctx context.Context) error {
	return s.locked(func() error {
		if err := s.compactLocked(ctx); err != nil {
			return err
		}
		return s.restartAPIServerLocked(ctx)
	})
}

func (s *Server) compactLocked(ctx context.Context) error {
	defer s.etcd.closeIdle()
	// Etcd keeps the revision that it is compacted at, and lets a watch of the
	// revision before go on from there. Two empty steps make both of them ours.
	var revision int64
	for range 2 {
		var err error
		if revision, err = s.etcd.put(ctx, fillerKey, nil); err != nil {
			return fmt.Errorf("compact etcd: %w", err)
		}
	}
	if err := s.etcd.compact(ctx, revision); err != nil {
		return fmt.Errorf("compact etcd: %w", err)
	}
	if _, err := s.etcd.put(ctx, compactedKey, strconv.AppendInt(nil, revision, 10)); err != nil {
		return fmt.Errorf("tell kube-apiserver of the compaction: %w", err)
	}
	return nil
}
