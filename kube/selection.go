package kube

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kinform/kinform/internal/engine"
)

// LabelTerms returns the terms of a label selector in canonical order and spelling:
// "a=b", "a==b" and "a in (b)" are the same.
func LabelTerms(selector string) []string {
	parsed, _ := labels.Parse(selector)
	if parsed == nil {
		return nil
	}
	requirements, _ := parsed.Requirements()
	var terms []string
	for _, r := range requirements {
		operator := r.Operator()
		switch operator {
		case selection.Equals, selection.DoubleEquals:
			operator = selection.In
		case selection.NotEquals:
			operator = selection.NotIn
		}
		terms = append(terms, fmt.Sprint(r.Key(), " ", operator, " ", r.Values().List()))
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// Reselect compares the selectors of two queries, which must be valid. It reports
// whether they select the same. If the second selects a subset of the first that can be
// recognized by an object's labels, it returns a function that does so.
func Reselect(from, to Query) (same bool, selects func(*engine.Record) bool) {
	if fieldTerms(from.FieldSelector) != fieldTerms(to.FieldSelector) {
		return false, nil
	}
	before, after := LabelTerms(from.LabelSelector), LabelTerms(to.LabelSelector)
	if slices.Equal(before, after) {
		return true, nil
	}
	for _, term := range before {
		if !slices.Contains(after, term) {
			return false, nil
		}
	}
	s, err := labels.Parse(to.LabelSelector)
	if err != nil {
		return false, nil
	}
	return false, func(r *engine.Record) bool { return s.Matches(r.Labels()) }
}

func fieldTerms(selector string) string {
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		return selector
	}
	terms := strings.Split(parsed.String(), ",")
	slices.Sort(terms)
	return strings.Join(terms, ",")
}
