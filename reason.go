package kinform

// Reason is the kind of a failure, in SourceStatus and RefusedError.
type Reason string

// The reasons for which a list or a watch fails.
const (
	ReasonNone         Reason = ""             // nothing fails
	ReasonUnauthorized Reason = "unauthorized" // 401: the client is not authenticated
	ReasonForbidden    Reason = "forbidden"    // 403: may not list or watch
	ReasonNoResource   Reason = "no-resource"  // 404: the server does not serve it
	ReasonUnreachable  Reason = "unreachable"  // nothing listens there, or there is no route
	ReasonTLS          Reason = "tls"          // the certificate cannot be trusted
	ReasonThrottled    Reason = "throttled"    // 429
	ReasonExpired      Reason = "expired"      // 410: the version is forgotten
	ReasonStalled      Reason = "stalled"      // silent for longer than bookmarks allow
	ReasonGarbled      Reason = "garbled"      // the response is not the Kubernetes protocol
	ReasonDisconnected Reason = "disconnected" // the connection broke
	ReasonServerError  Reason = "server-error" // 5xx and any other status
	ReasonUnsupported  Reason = "unsupported"  // 405, 501: the server cannot watch it
	ReasonUnknown      Reason = "unknown"
)

// Refusal reports whether retrying is unlikely to help: ReasonUnauthorized, ReasonForbidden or ReasonNoResource.
func (r Reason) Refusal() bool {
	return r == ReasonUnauthorized || r == ReasonForbidden || r == ReasonNoResource
}
