package apisim

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// handleGet answers with one object.
func (s *Server) handleGet(w http.ResponseWriter, r *request) error {
	f, err := negotiate(r, r.served, false)
	if err != nil {
		return err
	}
	if err := f.checkShape(false); err != nil {
		return err
	}
	var o metav1.GetOptions
	if err := queryInto(r, &o); err != nil {
		return err
	}
	version, err := parseVersion(o.ResourceVersion)
	if err != nil {
		return invalidVersion(o.ResourceVersion, err)
	}
	if have := s.store.waitFor(r.http.Context(), version, freshWait); have < version {
		return errTooLarge(version, have)
	}
	have := s.store.get(r.served.store, r.key())
	if have == nil {
		return apierrors.NewNotFound(r.served.gr(), r.name)
	}
	return r.served.writeOne(w, r.http, http.StatusOK, f, have)
}

func (r *request) key() string { return r.served.key(r.namespace, r.name) }

// writeOne answers with one object in the format that was negotiated.
func (r *resource) writeOne(w http.ResponseWriter, h *http.Request, code int, f format, o *object) error {
	data, err := r.whole(f, o)
	if err != nil {
		return err
	}
	writeObject(w, h, code, f.media, data)
	return nil
}
