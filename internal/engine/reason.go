package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/wire"
)

// Reason is the kind of a failure.
type Reason string

const (
	None         Reason = ""
	Unauthorized Reason = "unauthorized" // 401: the client is not authenticated
	Forbidden    Reason = "forbidden"    // 403: may not list or watch
	NoResource   Reason = "no-resource"  // 404: the server does not serve it
	Refused      Reason = "unreachable"  // nothing listens there, or there is no route
	TLS          Reason = "tls"          // the certificate cannot be trusted
	Throttled    Reason = "throttled"    // 429
	Expired      Reason = "expired"      // 410: the version is forgotten
	Stalled      Reason = "stalled"      // silent for longer than bookmarks allow
	Garbled      Reason = "garbled"      // the response is not the Kubernetes protocol
	Cut          Reason = "disconnected" // the connection broke
	ServerError  Reason = "server-error" // 5xx and any other status
	Unsupported  Reason = "unsupported"  // 405, 501: the server cannot do it
	Unknown      Reason = "unknown"
)

// Refusal reports whether retrying is unlikely to help: the client is not
// authenticated or not allowed, or the resource is not served.
func (r Reason) Refusal() bool {
	return r == Unauthorized || r == Forbidden || r == NoResource
}

// errStalled says that a server was silent for too long.
var errStalled = errors.New("the server has been silent for too long")

// reasonOf returns the kind of a failure.
func reasonOf(err error) Reason {
	var (
		dial   *net.OpError
		dns    *net.DNSError
		verify *tls.CertificateVerificationError
		noCA   x509.UnknownAuthorityError
		alert  tls.AlertError
		record tls.RecordHeaderError
		syntax *wire.SyntaxError
		limit  *wire.LimitError
		kind   *wire.KindError
		event  *wire.EventError
		status apierrors.APIStatus
	)
	switch {
	case err == nil:
		return None
	case errors.Is(err, errStalled), errors.Is(err, errDeaf), errors.Is(err, context.DeadlineExceeded):
		return Stalled
	case apierrors.IsUnauthorized(err):
		return Unauthorized
	case apierrors.IsForbidden(err):
		return Forbidden
	case apierrors.IsNotFound(err):
		return NoResource
	case isUnsupported(err):
		return Unsupported
	case apierrors.IsTooManyRequests(err):
		return Throttled
	case isExpired(err):
		return Expired
	case errors.As(err, &verify), errors.As(err, &noCA), errors.As(err, &alert), errors.As(err, &record),
		errors.Is(err, http.ErrSchemeMismatch):
		return TLS
	case errors.As(err, &status):
		return ServerError
	case errors.As(err, &syntax), errors.As(err, &limit), errors.As(err, &kind),
		errors.As(err, &event), errors.Is(err, errNoName), errors.Is(err, errLongNamespace):
		return Garbled
	case errors.Is(err, syscall.ECONNREFUSED), errors.As(err, &dns),
		errors.As(err, &dial) && dial.Op == "dial":
		return Refused
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, errAtOnce),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed),
		errors.As(err, &dial), isHTTP2Cut(err):
		return Cut
	}
	return Unknown
}

// isHTTP2Cut: the server or the way there ended a connection, or one stream on it.
// Which HTTP/2 client is at work, and so the errors' types, is not known here; the
// texts are the same in all.
func isHTTP2Cut(err error) bool {
	root := err
	for next := err; next != nil; next = errors.Unwrap(next) {
		root = next
	}
	text := root.Error()
	return strings.HasPrefix(text, "http2: ") || strings.HasPrefix(text, "stream error: ") ||
		strings.HasPrefix(text, "connection error: ")
}

// shorten cuts what a server says of a failure: an error event may be as large as
// any object, and Status keeps the last one.
func shorten(source Source, err error) error {
	if len(err.Error()) <= longest {
		return err
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return &cutError{cut(err.Error()), err}
	}
	s := status.ErrStatus
	s.Message, s.Details = cut(s.Message), nil
	return fmt.Errorf("%s: %w", source, &apierrors.StatusError{ErrStatus: s})
}

// cutError is an error whose text was too long.
type cutError struct {
	text string
	err  error
}

func (e *cutError) Error() string { return e.text }
func (e *cutError) Unwrap() error { return e.err }

// isExpired: the server has forgotten the version that was asked for.
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// isAhead: the server has not reached the version that was asked for, because
// it lags, or because its history went back.
func isAhead(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}
