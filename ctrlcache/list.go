package ctrlcache

import (
	"context"
	"errors"
	"fmt"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/internal/engine"
)

// noPages is what lists have in place of a token: a cache has no pages, and a caller
// who asks for the next one gets an error.
const noPages = "continue-not-supported"

// List reads objects into a list, in no order. What cannot be decoded is left out.
//
// Possible errors: those of Get, but for NotFound; a field without an index.
func (c *informerCache) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(opts)
	if o.Continue != "" {
		return errors.New("continue list option is not supported by the cache")
	}
	f, err := c.formOfList(out)
	if err != nil {
		return err
	}
	k, err := c.kindToRead(f.gvk)
	if err != nil {
		return err
	}
	scopes, err := k.scopesFor(o.Namespace)
	if err != nil {
		return err
	}
	var found []taken
	left := o.Limit
	for _, scope := range scopes {
		m, err := c.readable(ctx, k, f, scope)
		if err != nil {
			return err
		}
		s, err := m.selected(o, left)
		if err != nil {
			return err
		}
		found = append(found, s)
		if left -= int64(len(s.chosen)); o.Limit > 0 && left <= 0 {
			break
		}
	}
	if err := fill(out, found); err != nil {
		return err
	}
	out.SetContinue(noPages)
	return nil
}

// scopesFor returns the scopes in which a namespace, or all of them, are listed.
func (k *kind) scopesFor(namespace string) ([]string, error) {
	if k.namespaced && namespace == "" {
		var all []string
		for scope := range k.scopes {
			all = append(all, scope)
		}
		return all, nil
	}
	scope, ok := k.scope(namespace)
	if !ok {
		return nil, fmt.Errorf("unable to list: %v because of unknown namespace for the cache", namespace)
	}
	return []string{scope}, nil
}

// taken is what a list takes from one member.
type taken struct {
	*member
	chosen []*engine.Record
	shared bool
}

// selected returns the records that a list selects, at most limit if that is not 0.
func (m *member) selected(o *client.ListOptions, limit int64) (taken, error) {
	s := taken{member: m, shared: m.shares(o.UnsafeDisableDeepCopy)}
	candidates, err := m.candidates(o)
	if err != nil {
		return s, err
	}
	for r := range candidates {
		if o.LabelSelector != nil && !m.matches(r, o.LabelSelector) {
			continue
		}
		s.chosen = append(s.chosen, r)
		if limit > 0 && int64(len(s.chosen)) >= limit {
			break
		}
	}
	return s, nil
}

// candidates yields the records that a list selects but for their labels.
func (m *member) candidates(o *client.ListOptions) (iter.Seq[*engine.Record], error) {
	switch {
	case o.FieldSelector != nil:
		return m.byFields(o.FieldSelector, o.Namespace)
	case o.Namespace != "":
		return m.records.RecordsIn(o.Namespace), nil
	}
	return m.records.Records(), nil
}

// matches selects by labels, which need no decoding, unless a transform may have
// changed them.
func (m *member) matches(r *engine.Record, selector labels.Selector) bool {
	if !m.records.Alters() {
		return selector.Matches(r.Labels())
	}
	obj, err := m.records.Object(r)
	if err != nil {
		return false
	}
	o, ok := obj.(metav1.Object)
	return ok && selector.Matches(labels.Set(o.GetLabels()))
}
