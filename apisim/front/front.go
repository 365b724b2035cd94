// Package front has what stands between clients and API servers in the real
// world: proxies that buffer, cut, delay and rewrite, load balancers in front
// of several servers, and gateways that do not let everything through.
//
// A Layer wraps any http.Handler: a server of package apisim, one of package
// aggregated, or a httputil.ReverseProxy in front of a real server. Layers are
// put together with Chain.
//
//	server, err := apisim.Start(apisim.Options{
//		Front: front.Chain(front.DropQuery("allowWatchBookmarks"), front.BufferWatches(4096)),
//	})
//
// What may live here: what happens on the way, always in the same manner, so
// that a test can predict the result. What happens by chance is in
// internal/faultproxy, what a server itself does wrong in package apisim.
package front

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Layer puts something in front of a handler.
type Layer = func(http.Handler) http.Handler

// Chain makes one layer of several. The first is next to the clients.
func Chain(layers ...Layer) Layer {
	return func(next http.Handler) http.Handler {
		for _, layer := range slices.Backward(layers) {
			next = layer(next)
		}
		return next
	}
}

// isWatch reports whether a request opens a watch.
func isWatch(r *http.Request) bool {
	switch strings.ToLower(r.URL.Query().Get("watch")) {
	case "", "0", "false":
		return false
	}
	return r.Method == http.MethodGet
}

// watches is a layer that lets everything but watches pass.
func watches(serve func(next http.Handler, w http.ResponseWriter, r *http.Request)) Layer {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if isWatch(r) {
				serve(next, w, r)
			} else {
				next.ServeHTTP(w, r)
			}
		})
	}
}

// Alternate hands each request to the next of several servers in turn, as a
// load balancer does that does not know connections.
func Alternate(servers ...http.Handler) http.Handler {
	var n atomic.Uint64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		servers[(n.Add(1)-1)%uint64(len(servers))].ServeHTTP(w, r)
	})
}

// RefuseWatches answers watches with a code: 403 where the rights are missing,
// 405 where the server cannot watch.
func RefuseWatches(code int) Layer {
	return watches(func(_ http.Handler, w http.ResponseWriter, r *http.Request) {
		refuse(w, code, "watch is not supported")
	})
}

// RefuseInitialEvents answers watches that are to begin with the objects and a
// bookmark after them with 422, as servers do that cannot.
func RefuseInitialEvents() Layer {
	return watches(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sendInitialEvents") != "" {
			refuse(w, http.StatusUnprocessableEntity, "sendInitialEvents is not supported")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// reasons are the reasons that servers give with a code.
var reasons = map[int]metav1.StatusReason{
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusNotFound:            metav1.StatusReasonNotFound,
	http.StatusMethodNotAllowed:    metav1.StatusReasonMethodNotAllowed,
	http.StatusGone:                metav1.StatusReasonExpired,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
}

func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reasons[code],
		Message: fmt.Sprintf("%s (%d)", message, code),
	}) // whoever has gone needs no answer
}

// DropQuery takes parameters off every request, as gateways do that let only
// known ones through. Without "watch" a watch is answered with a list.
func DropQuery(names ...string) Layer {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			query := r.URL.Query()
			for _, name := range names {
				query.Del(name)
			}
			next.ServeHTTP(w, withQuery(r, query))
		})
	}
}

func withQuery(r *http.Request, query url.Values) *http.Request {
	changed := r.Clone(r.Context())
	changed.URL.RawQuery = query.Encode()
	changed.RequestURI = changed.URL.RequestURI()
	return changed
}

// EndWatches ends every watch in peace after a time, whatever it asked for.
func EndWatches(after time.Duration) Layer {
	return watches(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), after)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// CutWatches breaks every watch after a time: the client sees that it has not
// ended as it should.
func CutWatches(after time.Duration) Layer {
	return watches(func(next http.Handler, w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), after)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
		if ctx.Err() != nil {
			panic(http.ErrAbortHandler)
		}
	})
}
