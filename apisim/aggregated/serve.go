package aggregated

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// match reports whether a path is that of the resource, and of which namespace.
func (s *Server) match(path string) (namespace string, ours bool) {
	r := s.options.Resource
	root := "/apis/" + r.Group + "/" + r.Version + "/"
	if r.Group == "" {
		root = "/api/" + r.Version + "/"
	}
	rest, ours := strings.CutPrefix(path, root)
	if after, found := strings.CutPrefix(rest, "namespaces/"); found {
		namespace, rest, _ = strings.Cut(after, "/")
	}
	return namespace, ours && rest == r.Resource
}

// ServeHTTP answers lists and watches.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	namespace, ours := s.match(r.URL.Path)
	query := r.URL.Query()
	switch {
	case !ours:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	case r.Method != http.MethodGet:
		refuse(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "this server can only be read")
	case query.Get("sendInitialEvents") != "":
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is not supported")
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		s.watch(w, r, namespace)
	default:
		list := s.List()
		for i := len(list.Items) - 1; i >= 0; i-- {
			if namespace != "" && list.Items[i].GetNamespace() != namespace {
				list.Items = append(list.Items[:i], list.Items[i+1:]...)
			}
		}
		writeJSON(w, http.StatusOK, list)
	}
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	writeJSON(w, code, status(code, reason, message))
}

func status(code int, reason metav1.StatusReason, message string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}
}

// watch sends events until the time is over, the client goes or the server
// forgets.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, namespace string) {
	ctx := r.Context()
	if seconds, err := strconv.Atoi(r.URL.Query().Get("timeoutSeconds")); err == nil && seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
		defer cancel()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := json.NewEncoder(w)
	initial, next, cut, expired := s.begin(r.URL.Query().Get("resourceVersion"), namespace)
	if expired {
		_ = out.Encode(frame{"ERROR", status(http.StatusGone, metav1.StatusReasonExpired, "this version is forgotten")})
		return
	}
	for _, content := range initial {
		if out.Encode(frame{"ADDED", content}) != nil {
			return
		}
	}
	for {
		events, changed, gone := s.after(next)
		if gone {
			return
		}
		for _, e := range events {
			if e.kind != "" && (namespace == "" || e.namespace == namespace) {
				if out.Encode(frame{e.kind, e.content}) != nil {
					return
				}
			}
		}
		next += uint64(len(events))
		if len(events) > 0 {
			continue
		}
		_ = http.NewResponseController(w).Flush() // whoever has gone ends ctx
		select {
		case <-changed:
		case <-cut:
			return
		case <-ctx.Done():
			return
		}
	}
}

// frame is one event on the wire.
type frame struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

// begin returns what a watch sends first, and the moment after which it goes
// on.
func (s *Server) begin(version, namespace string) (initial []map[string]any, after uint64, cut <-chan struct{}, expired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, known := s.moments[version]
	switch {
	case version == "", version == "0", m.several:
		return s.visibleLocked(namespace), s.at, s.cut, false
	case !known, m.at < s.first:
		return nil, 0, nil, true
	}
	return nil, m.at, s.cut, false
}

// after returns the events after a moment, or else a channel that is closed
// when there are some.
func (s *Server) after(at uint64) (events []event, changed <-chan struct{}, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at < s.first {
		return nil, nil, true
	}
	if from := at - s.first; from < uint64(len(s.events)) {
		events = s.events[from:]
	}
	return events, s.changed, false
}
