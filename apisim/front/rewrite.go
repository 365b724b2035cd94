package front

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// Rewrite decodes and encodes every object on its way to the client, in lists,
// watches and single answers, and lets edit change it in between: edit is what
// a gateway does that takes fields away or adds some. Whatever edit does, the
// client gets JSON, with the fields of objects and lists in alphabetic order
// (a list's version after its items), and blanks between them. Edit may be nil.
func Rewrite(edit func(object map[string]any)) Layer {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			plain := r.Clone(r.Context())
			plain.Header.Set("Accept", withoutProtobuf(r.Header.Get("Accept")))
			plain.Header.Set("Accept-Encoding", "identity")
			body := &rewrittenBody{ResponseWriter: w, edit: edit, stream: isWatch(r)}
			next.ServeHTTP(body, plain)
			body.end()
		})
	}
}

// withoutProtobuf takes the encodings that are not JSON off an Accept header.
func withoutProtobuf(accept string) string {
	var rest []string
	for part := range strings.SplitSeq(accept, ",") {
		if strings.Contains(part, "json") {
			rest = append(rest, part)
		}
	}
	if len(rest) == 0 {
		return "application/json"
	}
	return strings.Join(rest, ",")
}

type rewrittenBody struct {
	http.ResponseWriter
	edit   func(map[string]any)
	stream bool
	held   []byte // of a stream: the beginning of a line
}

func (b *rewrittenBody) WriteHeader(code int) {
	b.Header().Del("Content-Length")
	b.ResponseWriter.WriteHeader(code)
}

func (b *rewrittenBody) FlushError() error {
	if b.stream {
		return http.NewResponseController(b.ResponseWriter).Flush()
	}
	return nil
}

func (b *rewrittenBody) Write(p []byte) (int, error) {
	b.held = append(b.held, p...)
	for b.stream {
		end := bytes.IndexByte(b.held, '\n')
		if end < 0 {
			break
		}
		if _, err := b.ResponseWriter.Write(b.rewritten(b.held[:end+1])); err != nil {
			return 0, err
		}
		b.held = b.held[end+1:]
	}
	return len(p), nil
}

func (b *rewrittenBody) end() {
	_, _ = b.ResponseWriter.Write(b.rewritten(b.held)) // whoever has gone needs nothing more
}

// rewritten returns a text with its objects changed, or, where it is no JSON,
// as it is.
func (b *rewrittenBody) rewritten(text []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var whole map[string]any
	if decoder.Decode(&whole) != nil {
		return text
	}
	b.change(whole)
	out, err := json.Marshal(whole) // sorts the fields
	if err != nil {
		return text
	}
	return append(spaced(out), '\n')
}

// spaced puts blanks after the commas and colons of JSON.
func spaced(text []byte) []byte {
	out := make([]byte, 0, len(text)+len(text)/8)
	inString := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		out = append(out, c)
		switch {
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
			out = append(out, text[i])
		case !inString && (c == ',' || c == ':'):
			out = append(out, ' ')
		}
	}
	return out
}

// change edits the objects of a list, the object of an event, or the object
// that it is given itself.
func (b *rewrittenBody) change(whole map[string]any) {
	if b.edit == nil {
		return
	}
	if items, ok := whole["items"].([]any); ok {
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				b.edit(object)
			}
		}
		return
	}
	if event, ok := whole["type"].(string); ok && b.stream {
		if object, ok := whole["object"].(map[string]any); ok && event != "ERROR" && event != "BOOKMARK" {
			b.edit(object)
		}
		return
	}
	if whole["kind"] != "Status" {
		b.edit(whole)
	}
}
