package faultproxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// exchange is one request and its answer.
type exchange struct {
	proxy *Proxy
	w     http.ResponseWriter
	r     *http.Request
	ctx   context.Context // ends when the client has gone, or the proxy is severed
	class class
	rng   *rand.Rand
}

// run answers the request.
func (x *exchange) run() {
	if kind, suffers := x.fate(); suffers && !x.meet(kind) {
		return
	}
	response, err := x.forward()
	if err != nil {
		// The server is down: what a load balancer does then.
		if x.rng.IntN(2) == 0 {
			x.abort()
		}
		x.page(http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode != http.StatusOK:
		x.copy(response)
	case x.class == classWatch || x.class == classWatchList:
		x.watch(response)
	default:
		x.list(response)
	}
}

// suffers tosses a coin; nothing does while it is calm.
func (x *exchange) suffers(share float64) bool {
	return x.rng.Float64() < share && !x.proxy.calm.Load()
}

// fate chooses what the request meets before it is answered.
func (x *exchange) fate() (Kind, bool) {
	if !x.suffers(x.proxy.options.Requests) {
		return "", false
	}
	switch x.class {
	case classWatch, classWatchList:
		return x.choose(watchRequest)
	case classPage:
		return x.choose(pageRequest)
	case classList, classProbe:
		return x.choose(listRequest)
	}
	return "", false
}

// meet has the request suffer, and reports whether it is to be passed on after that.
func (x *exchange) meet(kind Kind) (goesOn bool) {
	x.count(kind)
	switch kind {
	case Delayed:
		return x.wait(x.upTo(200 * time.Millisecond))
	case Unanswered:
		x.hang()
	case Hangup:
		x.abort()
	case Dropped:
		x.dropSoon()
		return true
	case Throttled:
		if x.rng.IntN(4) == 0 {
			x.w.Header().Set("Retry-After", "1")
		}
		x.status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	case ServerError:
		x.status(http.StatusInternalServerError, metav1.StatusReasonInternalError)
	case BadGateway:
		x.page(http.StatusBadGateway)
	case GatewayTimeout:
		x.page(http.StatusGatewayTimeout)
	case Page:
		x.page(http.StatusOK)
	case Unauthorized:
		x.status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
	case Forbidden:
		x.status(http.StatusForbidden, metav1.StatusReasonForbidden)
	case NotFound:
		x.status(http.StatusNotFound, metav1.StatusReasonNotFound)
	case GoneList, GoneWatch, ExpiredContinue:
		x.status(http.StatusGone, metav1.StatusReasonExpired)
	}
	return false
}

func (x *exchange) count(kind Kind) { x.proxy.counts.add(kind) }

// upTo is a random time.
func (x *exchange) upTo(most time.Duration) time.Duration {
	return time.Duration(x.rng.Int64N(int64(most)))
}

// wait returns false if the client has gone meanwhile.
func (x *exchange) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-x.ctx.Done():
		return false
	}
}

// hang does nothing until the client gives up.
func (x *exchange) hang() {
	<-x.ctx.Done()
	x.abort()
}

// abort ends the answer where it is: the client sees a broken stream or connection.
func (x *exchange) abort() { panic(http.ErrAbortHandler) }

// dropSoon breaks the TCP connection after some more bytes.
func (x *exchange) dropSoon() {
	if c := connOf(x.r.Context()); c != nil {
		c.cutAfter(x.rng.IntN(4096))
	}
}

func (x *exchange) status(code int, reason metav1.StatusReason) {
	body, err := json.Marshal(failure(code, reason))
	if err != nil {
		x.abort()
	}
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(code)
	_, _ = x.w.Write(body) // whoever has gone needs no answer
}

func failure(code int, reason metav1.StatusReason) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason,
		Message: fmt.Sprintf("injected fault: %d", code),
	}
}

func (x *exchange) page(code int) {
	x.w.Header().Set("Content-Type", "text/html")
	x.w.WriteHeader(code)
	_, _ = io.WriteString(x.w, "<html><head><title>injected fault</title></head><body>"+http.StatusText(code)+"</body></html>\n")
}

// forward asks the server.
func (x *exchange) forward() (*http.Response, error) {
	u := *x.r.URL
	u.Scheme, u.Host = x.proxy.target.Scheme, x.proxy.target.Host
	out, err := http.NewRequestWithContext(x.ctx, x.r.Method, u.String(), x.r.Body)
	if err != nil {
		return nil, err
	}
	out.ContentLength = x.r.ContentLength
	out.Header = x.r.Header.Clone()
	for _, name := range []string{"Authorization", "Connection", "Te", "Transfer-Encoding", "Upgrade"} {
		out.Header.Del(name)
	}
	return x.proxy.transport.RoundTrip(out)
}

// head passes on the head of an answer.
func (x *exchange) head(response *http.Response) {
	h := x.w.Header()
	maps.Copy(h, response.Header)
	for _, name := range []string{"Connection", "Content-Length", "Transfer-Encoding"} {
		h.Del(name)
	}
	x.w.WriteHeader(response.StatusCode)
	x.flush()
}

func (x *exchange) flush() { _ = http.NewResponseController(x.w).Flush() }

// copy passes an answer on as it is.
func (x *exchange) copy(response *http.Response) {
	x.head(response)
	if _, err := io.Copy(x.w, response.Body); err != nil {
		x.abort()
	}
}

// list passes the answer to a list on, or some of it.
func (x *exchange) list(response *http.Response) {
	kind, some := x.choose(listBody)
	if !some || !x.suffers(x.proxy.options.Requests/2) {
		x.copy(response)
		return
	}
	const most = 64 << 20
	body, err := io.ReadAll(io.LimitReader(response.Body, most))
	if err != nil || len(body) < 2 {
		x.abort()
	}
	x.head(response)
	x.count(kind)
	n := x.rng.IntN(len(body) - 1)
	switch kind {
	case GarbledList:
		// Noise up to the end, and over many fields: no decoder takes that.
		copy(body[n/2:], strings.Repeat("\xff", len(body)))
		n = len(body)
	case CutList:
		defer x.abort()
	case StuckList:
		defer x.hang()
	}
	_, _ = x.w.Write(body[:n])
	x.flush()
}
