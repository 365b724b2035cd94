package apisim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/btree"
	"google.golang.org/protobuf/encoding/protowire"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
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

func (r *resource) writeList(w http.ResponseWriter, h *http.Request, f format, p *page) error {
	switch {
	case f.shape == asTable:
		data, err := r.table(f, p.objects, p.meta)
		if err == nil {
			data, err = envelope(f.media, r.kindIn(f), data)
		}
		if err != nil {
			return err
		}
		writeObject(w, h, http.StatusOK, f.media, data)
		return nil
	case f.media == mediaProtobuf:
		return r.writeProtobufList(w, h, f, p)
	case f.media == mediaYAML:
		var b strings.Builder
		if err := r.streamJSONList(&b, f, p); err != nil {
			return err
		}
		data, err := yaml.JSONToYAML([]byte(b.String()))
		if err != nil {
			return err
		}
		writeObject(w, h, http.StatusOK, f.media, data)
		return nil
	}
	body := newBody(w, h, http.StatusOK, f.media)
	if err := r.streamJSONList(body, f, p); err != nil {
		return abortAnswer{err}
	}
	_ = body.Close()
	return nil
}

// writeProtobufList writes a list whose length prefixes come before the
// items: sizes first, then the bytes as they are kept.
func (r *resource) writeProtobufList(w http.ResponseWriter, h *http.Request, f format, p *page) error {
	meta, err := p.meta.Marshal()
	if err != nil {
		return err
	}
	size := 1 + protowire.SizeBytes(len(meta))
	for _, o := range p.objects {
		n, err := r.itemSize(f, o)
		if err != nil {
			return err
		}
		size += 1 + protowire.SizeBytes(n)
	}
	apiVersion, kind := r.listKindIn(f).ToAPIVersionAndKind()
	head := appendEnvelopeHead(nil, apiVersion, kind, size)
	head = protowire.AppendTag(head, objectMetaField, protowire.BytesType)
	head = protowire.AppendBytes(head, meta)

	body := newBody(w, h, http.StatusOK, f.media)
	if _, err := body.Write(head); err != nil {
		return nil // the client has gone
	}
	var prefix [16]byte
	var buffer []byte
	for _, o := range p.objects {
		item, err := r.itemIn(buffer, f, o)
		if err != nil {
			return abortAnswer{err}
		}
		if o.sibling != nil {
			buffer = item[:0]
		}
		b := protowire.AppendTag(prefix[:0], listItemsField, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(len(item)))
		if _, err := body.Write(b); err != nil {
			return nil
		}
		if _, err := body.Write(item); err != nil {
			return nil
		}
	}
	if _, err := body.Write([]byte(envelopeTail)); err != nil {
		return nil
	}
	_ = body.Close()
	return nil
}

func (r *resource) streamJSONList(w io.Writer, f format, p *page) error {
	head, tail := r.jsonListFrame(f, p)
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	for i, o := range p.objects {
		item, err := r.item(f, o)
		if err != nil {
			return err
		}
		if i > 0 {
			if _, err := io.WriteString(w, ","); err != nil {
				return err
			}
		}
		if _, err := w.Write(item); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, tail)
	return err
}

// jsonListFrame is what stands before and after the items. Lists of custom
// resources have their fields in alphabetic order, which puts the version
// after the items.
func (r *resource) jsonListFrame(f format, p *page) (head, tail string) {
	apiVersion, kind := r.listKindIn(f).ToAPIVersionAndKind()
	if r.custom == nil || r.gvr == crdGVR || f.shape != asItself {
		meta, _ := json.Marshal(p.meta)
		return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, kind, apiVersion, meta), "]}\n"
	}
	meta := map[string]any{"continue": p.meta.Continue, "resourceVersion": p.meta.ResourceVersion}
	if p.meta.RemainingItemCount != nil {
		meta["remainingItemCount"] = *p.meta.RemainingItemCount
	}
	sorted, _ := json.Marshal(meta)
	return fmt.Sprintf(`{"apiVersion":%q,"items":[`, apiVersion), fmt.Sprintf(`],"kind":%q,"metadata":%s}`+"\n", kind, sorted)
}
