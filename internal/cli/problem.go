package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// problem is an error for people: what was tried, why it failed, and what to do
// about it.
type problem struct {
	what, why, do string
	cause         error
}

func (p *problem) Error() string {
	text := p.what
	if p.why != "" {
		text += ": " + printable(p.why)
	}
	if p.do != "" {
		text += "\n  " + p.do
	}
	return text
}

func (p *problem) Unwrap() error { return p.cause }

// explain makes a problem of an error that a server, or the way there, gave.
func explain(what string, err error, srv *server) *problem {
	p := &problem{what: what, why: reason(err), cause: err}
	switch {
	case apierrors.IsForbidden(err):
		p.do = "ask the cluster's administrator for the rights to list and watch, or look where you have them: -n NAMESPACE, --context"
	case apierrors.IsUnauthorized(err):
		p.why = "the server does not know who is asking"
		p.do = "log in again, or choose other credentials: --context, --kubeconfig (now: " + srv.from + ")"
	case apierrors.IsNotFound(err):
		p.do = "the server does not serve it (any more): kubectl api-resources shows what it has"
	case apierrors.IsBadRequest(err):
		p.do = "check what is asked for: -l, --field-selector"
	case isCertificate(err):
		p.do = "check the certificate-authority in " + srv.from
	case isUnreachable(err):
		p.do = fmt.Sprintf("check that %s is the right address (from %s) and that the server runs", srv.config.Host, srv.from)
	case isTimeout(err):
		p.do = srv.checkWay()
	}
	return p
}

// reason is the cause of an error in a phrase, without what was being done when
// it happened.
func reason(err error) string {
	var (
		status  apierrors.APIStatus
		dns     *net.DNSError
		network *net.OpError
	)
	switch {
	case errors.As(err, &status):
		s := status.Status()
		if s.Message == "" {
			return fmt.Sprintf("the server answered %d %s", s.Code, s.Reason)
		}
		return s.Message
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: nobody listens there"
	case errors.As(err, &dns):
		return "the host " + dns.Name + " is not known"
	case isTimeout(err):
		return "no answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection broke"
	case errors.As(err, &network):
		return innermost(network)
	}
	return innermost(err)
}

// innermost is what an error says at its core: each layer around it repeats what
// the reader knows.
func innermost(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return strings.TrimSpace(err.Error())
		}
		err = inner
	}
}

// hopeless reports whether an answer will not change by asking again soon: the
// server understood the question, and the answer is no.
func hopeless(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return isCertificate(err)
	}
	switch code := status.Status().Code; code {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

func isUnreachable(err error) bool {
	var dial *net.OpError
	var dns *net.DNSError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns) || errors.As(err, &dial) && dial.Op == "dial"
}

func isCertificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &verify) || errors.As(err, &unknown)
}
