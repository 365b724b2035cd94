package apisim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/btree"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// freshWait is how long a request for a version that is still to come waits
// for it.
const freshWait = 3 * time.Second

// handleList answers a list: it settles on one state of the collection, picks
// the objects, and streams their bytes.
func (s *Server) handleList(w http.ResponseWriter, r *request) error {
	f, err := negotiate(r, r.served, false)
	if err != nil {
		return err
	}
	o, err := listOptions(r)
	if err != nil {
		return err
	}
	if err := f.checkShape(true); err != nil {
		return err
	}
	chosen, err := newSelection(r, o)
	if err != nil {
		return err
	}
	state, err := s.stateFor(r, o, chosen)
	if err != nil {
		return err
	}
	page := state.page(chosen, o)
	return r.served.writeList(w, r.http, f, page)
}

// listState is the state of a collection that a list is answered from.
type listState struct {
	tree    *btree.BTreeG[*object]
	version uint64
	start   string // the key to begin with, from a continue token
}

// stateFor chooses the state by resourceVersion, resourceVersionMatch and
// continue.
func (s *Server) stateFor(r *request, o *metainternal.ListOptions, chosen *selection) (*listState, error) {
	if o.Continue != "" {
		return s.continuedState(r, o, chosen)
	}
	version, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return nil, badRequest("invalid resource version: %v", invalidVersion(o.ResourceVersion, err))
	}
	if have := s.store.waitFor(r.http.Context(), version, freshWait); have < version {
		return nil, errTooLarge(version, have)
	}
	legacyExact := o.ResourceVersionMatch == "" && o.Limit > 0 && version > 0
	if o.ResourceVersionMatch == metav1.ResourceVersionMatchExact || legacyExact {
		tree, ok := s.store.past(r.served.store, version)
		if !ok {
			return nil, apierrors.NewResourceExpired(fmt.Sprintf("resource version %d is too old to be listed", version))
		}
		return &listState{tree: tree, version: version}, nil
	}
	tree, now := s.store.now(r.served.store)
	return &listState{tree: tree, version: now}, nil
}

// continuedState is the state that an earlier page was taken from.
func (s *Server) continuedState(r *request, o *metainternal.ListOptions, chosen *selection) (*listState, error) {
	token, err := decodeContinue(o.Continue)
	if err != nil {
		return nil, badRequest("invalid continue token: %v", err)
	}
	if o.ResourceVersion != "" && o.ResourceVersion != "0" {
		return nil, badRequest("specifying resource version is not allowed when using continue")
	}
	start := chosen.prefix + token.Start
	if token.Version < 0 {
		tree, now := s.store.now(r.served.store)
		return &listState{tree: tree, version: now, start: start}, nil
	}
	version := uint64(token.Version)
	if have := s.store.waitFor(r.http.Context(), version, freshWait); have < version {
		return nil, errTooLarge(version, have)
	}
	tree, ok := s.store.past(r.served.store, version)
	if !ok {
		return nil, errContinueExpired(token)
	}
	return &listState{tree: tree, version: version, start: start}, nil
}

// past returns the objects as they were at a version, or false if that is
// forgotten.
func (s *store) past(c *collection, version uint64) (*btree.BTreeG[*object], bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version < c.log.listFloor {
		return nil, false
	}
	if c.log.after(version) == c.log.next {
		return c.viewLocked(), true
	}
	tree := c.tree.Clone()
	c.log.rewind(tree, version)
	return tree, true
}

// page is the content of one answer.
type page struct {
	meta    metav1.ListMeta
	objects []*object
}

// page collects the objects of a selection, up to the limit. A list from any
// version ("0") is not limited.
func (l *listState) page(chosen *selection, o *metainternal.ListOptions) *page {
	limit := int(min(max(o.Limit, 0), 1<<31))
	if o.ResourceVersion == "0" {
		limit = 0
	}
	p := &page{meta: metav1.ListMeta{ResourceVersion: strconv.FormatUint(l.version, 10)}}
	if limit == 0 && chosen.everything() && chosen.prefix == "" {
		p.objects = make([]*object, 0, l.tree.Len())
	}
	start := max(l.start, chosen.prefix)
	more, beyond := false, int64(0)
	l.tree.AscendGreaterOrEqual(&object{key: start}, func(o *object) bool {
		if !strings.HasPrefix(o.key, chosen.prefix) {
			return false
		}
		if limit > 0 && len(p.objects) == limit {
			more = true
			beyond++
			return chosen.everything() // then the rest is counted
		}
		if chosen.matches(o) {
			p.objects = append(p.objects, o)
		}
		return true
	})
	if !more {
		return p
	}
	last := p.objects[len(p.objects)-1].key
	p.meta.Continue = encodeContinue(strings.TrimPrefix(last, chosen.prefix)+"\x00", int64(l.version))
	if chosen.everything() {
		p.meta.RemainingItemCount = &beyond
	}
	return p
}
