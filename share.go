package kinform

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// setting is an option that must be the same for all readers of one watch.
type setting struct {
	name  string
	value any // comparable
}

// settings returns the options that all readers of one watch share, with their
// defaults filled in. Of the other options, Resource, Namespaces and the selectors
// identify the watch; Logger, OnFailure, OnMutation, Tracer and Grace belong to each
// reader. An informer with OwnScope has one reader.
func (o Options) settings() []setting {
	backoff := engine.Backoff(o.Backoff).WithDefaults()
	return []setting{
		{"DropManagedFields", o.DropManagedFields},
		{"PageSize", o.PageSize},
		{"FromCache", o.FromCache},
		{"WatchList", o.WatchList},
		{"JSON", o.JSON},
		{"Compression", o.Compression},
		{"Residency", o.Residency},
		{"Unshared", o.Unshared},
		{"MaxObjectSize", orDefault(o.MaxObjectSize, int64(defaultMaxObjectSize))},
		{"Silence", orDefault(o.Silence, defaultSilence)},
		{"Poll", orDefault(o.Poll, defaultPoll)},
		{"Policy", o.Policy},
		{"Backoff", fmt.Sprintf("%v to %v", backoff.First, backoff.Most)},
		{"MutationDetector", o.MutationDetector},
		{"Snapshot", o.Snapshot.String()},
	}
}

func orDefault[T int64 | time.Duration](value, standard T) T {
	if value == 0 {
		return standard
	}
	return value
}

// agree returns a *ConflictError if an option that has to be the same is not.
func agree(resource string, existing, wanted Options) error {
	has := existing.settings()
	for i, want := range wanted.settings() {
		if has[i] != want {
			return &ConflictError{
				Resource: resource, Option: want.name,
				Existing: fmt.Sprint(has[i].value), Wanted: fmt.Sprint(want.value),
			}
		}
	}
	return nil
}

// selects returns a key for the watch that the options ask for: equal keys select
// the same objects, however the selectors are written. The options were checked.
func (o Options) selects(resource schema.GroupVersionResource) string {
	namespaces := slices.Compact(slices.Sorted(slices.Values(o.Namespaces)))
	byFields, _ := fields.ParseSelector(o.FieldSelector)
	return strings.Join([]string{resource.String(), strings.Join(namespaces, ","), labelTerms(o.LabelSelector), byFields.String()}, "\n")
}

// labelTerms returns the terms of a label selector in one order and one spelling.
func labelTerms(selector string) string { return strings.Join(kube.LabelTerms(selector), ",") }

// over returns the options, with the defaults where they are zero. Functions and the
// logger are left out: hooks.add adds each of them once.
func (o Options) over(defaults Options) Options {
	to, from := reflect.ValueOf(&o).Elem(), reflect.ValueOf(defaults)
	for i := range to.NumField() {
		switch to.Type().Field(i).Name {
		case "Logger", "OnFailure", "OnMutation":
			continue
		}
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return o
}
