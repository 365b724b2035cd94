package kinform

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/engine"
)

// errWithheld stands for what is wrong with a Secret. Decoders quote what they
// cannot read, and errors get into logs.
var errWithheld = errors.New("the bytes do not fit (what is wrong is not told, as it is a Secret)")

// isSecret tells whether a resource is one whose values are nobody's business.
func isSecret(r schema.GroupResource) bool { return r == schema.GroupResource{Resource: "secrets"} }

// discreet has a decoder of Secrets say nothing of what it saw.
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
