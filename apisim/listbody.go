package apisim

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"sigs.k8s.io/yaml"
)

// writeList answers with a page in the format that was negotiated.
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
	var unpack unpacker
	size := 1 + protowire.SizeBytes(len(meta))
	for _, o := range p.objects {
		n, err := r.itemSize(f, o, &unpack)
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
	for _, o := range p.objects {
		item, err := r.itemOf(f, unpack.data(o))
		if err != nil {
			return abortAnswer{err}
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
	chunks := (len(p.objects) + jsonChunk - 1) / jsonChunk
	for part := range inOrder(chunks, runtime.GOMAXPROCS(0), func(i int) jsonPart {
		return r.jsonItems(f, p.objects[i*jsonChunk:min((i+1)*jsonChunk, len(p.objects))], i > 0)
	}) {
		if part.err != nil {
			return part.err
		}
		if _, err := w.Write(part.data); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, tail)
	return err
}

// jsonChunk is how many items are encoded at once, several chunks at a time.
const jsonChunk = 32

type jsonPart struct {
	data []byte
	err  error
}

// jsonItems encodes items with commas between them, and one in front of the
// first if something stands before it.
func (r *resource) jsonItems(f format, objects []*object, comma bool) (part jsonPart) {
	defer func() {
		if cause := recover(); cause != nil {
			part.err = fmt.Errorf("panic: %v", cause) // it would end the process here
		}
	}()
	var unpack unpacker
	for _, o := range objects {
		item, err := r.itemOf(f, unpack.data(o))
		if err != nil {
			return jsonPart{err: err}
		}
		if part.data == nil {
			part.data = make([]byte, 0, (len(item)+1)*(len(objects)+1))
		}
		if comma {
			part.data = append(part.data, ',')
		}
		part.data = append(part.data, item...)
		comma = true
	}
	return part
}

// inOrder calls do for 0 … n-1, up to ahead of them at a time, and yields the
// results in order. It returns when all calls have.
func inOrder[T any](n, ahead int, do func(int) T) iter.Seq[T] {
	return func(yield func(T) bool) {
		var running sync.WaitGroup
		defer running.Wait()
		var results []chan T
		next := 0
		begin := func() {
			i, result := next, make(chan T, 1)
			running.Go(func() { result <- do(i) })
			results, next = append(results, result), next+1
		}
		for next < n || len(results) > 0 {
			for next < n && len(results) < ahead {
				begin()
			}
			result := <-results[0]
			results = results[1:]
			if !yield(result) {
				return
			}
		}
	}
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
