package kinform

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/internal/engine"
)

// errWithheld replaces the decoding error of a Secret. Decoders quote what they
// cannot read, and errors get into logs.
var errWithheld = errors.New("the bytes do not fit (details are withheld, as it is a Secret)")

// isSecret reports whether the values of a resource must not be logged.
func isSecret(r schema.GroupResource) bool { return r == schema.GroupResource{Resource: "secrets"} }

// discreet returns a decoder whose errors quote nothing.
func discreet(decode decoder) decoder {
	return func(r *engine.Record, near engine.Neighbour) (obj any, err error) {
		defer func() {
			if recover() != nil {
				err = errWithheld
			}
		}()
		if obj, err = decode(r, near); err != nil {
			return nil, errWithheld
		}
		return obj, nil
	}
}
