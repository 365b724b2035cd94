package cli

import (
	"fmt"
	"slices"
	"strings"
)

// openOfSecrets are the fields of Secrets that may be shown, beside labels.
var openOfSecrets = []string{
	"type", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.generation", "metadata.resourceVersion",
	"metadata.creationTimestamp", "metadata.deletionTimestamp",
}

// hides reports whether a field must not be shown, as the objects are Secrets.
func (t *target) hides(path string) bool {
	path = strings.TrimPrefix(path, ".")
	return t.secret && !slices.Contains(openOfSecrets, path) &&
		!strings.HasPrefix(path, "metadata.labels.") && !strings.HasPrefix(path, "metadata.labels[")
}

// checkSecrets refuses questions whose answers tell what is in Secrets, such as their order.
func (f *getFlags) checkSecrets(targets []*target) error {
	asked := []string{f.sortBy}
	for _, w := range f.clauses {
		asked = append(asked, w.path)
	}
	if by := f.index(); by.op != "" {
		asked = append(asked, by.path)
	}
	for _, t := range targets {
		for _, path := range asked {
			if path != "" && t.hides(path) {
				return &problem{
					what: fmt.Sprintf("cannot select or sort %s by %s", t.name, path),
					why:  "what Secrets contain is never shown, and the answer would tell it",
				}
			}
		}
	}
	return nil
}
