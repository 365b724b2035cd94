package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Scope is what a snapshot is of. One that differs in anything is of no use.
type Scope struct {
	// Server is the server's address, and CA identifies the certificates that it has to
	// prove itself with, if that is known. Both are known without a request.
	Server string `json:"server"`
	CA     string `json:"ca,omitempty"`

	// Resource is the group, version and resource, Namespace the namespace; "" is all.
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`

	LabelSelector string `json:"labels,omitempty"`
	FieldSelector string `json:"fields,omitempty"`

	// Form is what the server was asked to send of each object, and what was left out.
	Form string `json:"form,omitempty"`
}

// differs returns why a snapshot of scope s is of no use for o.
func (s Scope) differs(o Scope) error {
	for _, part := range []struct {
		kind      error
		name      string
		has, want string
	}{
		{ErrServer, "address", s.Server, o.Server},
		{ErrServer, "hash of the certificate authorities", s.CA, o.CA},
		{ErrScope, "resource", s.Resource, o.Resource},
		{ErrScope, "namespace", s.Namespace, o.Namespace},
		{ErrScope, "label selector", s.LabelSelector, o.LabelSelector},
		{ErrScope, "field selector", s.FieldSelector, o.FieldSelector},
		{ErrScope, "form", s.Form, o.Form},
	} {
		if part.has != part.want {
			return fmt.Errorf("%w: its %s is %q, wanted is %q", part.kind, part.name, part.has, part.want)
		}
	}
	return nil
}

// name is the file's name without its ending: readable, and another one for each scope.
// The server is not part of it: of a server that was replaced nothing is kept.
func (s Scope) name() string {
	s.Server, s.CA = "", ""
	text, _ := json.Marshal(s) // of strings: it cannot fail
	sum := sha256.Sum256(text)
	readable := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return '-'
	}, strings.ToLower(s.Resource))
	return strings.Trim(readable[:min(len(readable), 80)], ".-") + "-" + hex.EncodeToString(sum[:8])
}
