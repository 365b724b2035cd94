package kinform

import (
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/kinform/kinform/describe"
)

// hooks are the loggers and functions of all readers that share a core.
type hooks struct {
	mu        sync.Mutex
	loggers   []*slog.Logger // each once; nil is slog.Default
	failures  []func(error)
	mutations []func(Mutation)
	found     uint64 // how many mutations, and the last of them
	last      Mutation
	// defaults that were added already: functions cannot be compared.
	defaultFailure, defaultMutation bool
}

// add adds what one reader's options name. Defaults are those of its factory, which
// are added once, however many readers leave them as they are.
func (h *hooks) add(o, defaults Options) {
	h.mu.Lock()
	defer h.mu.Unlock()
	logger := o.Logger
	if logger == nil {
		logger = defaults.Logger
	}
	if !slices.Contains(h.loggers, logger) {
		h.loggers = append(h.loggers, logger)
	}
	switch {
	case o.OnFailure != nil:
		h.failures = append(h.failures, o.OnFailure)
	case defaults.OnFailure != nil && !h.defaultFailure:
		h.failures, h.defaultFailure = append(h.failures, defaults.OnFailure), true
	}
	switch {
	case o.OnMutation != nil:
		h.mutations = append(h.mutations, o.OnMutation)
	case defaults.OnMutation != nil && !h.defaultMutation:
		h.mutations, h.defaultMutation = append(h.mutations, defaults.OnMutation), true
	}
}

func (h *hooks) log(message string, args ...any) {
	h.mu.Lock()
	loggers := slices.Clone(h.loggers)
	h.mu.Unlock()
	for _, l := range loggers {
		if l == nil {
			l = slog.Default()
		}
		l.Warn("kinform: "+message, args...)
	}
}

func (h *hooks) failed(err error) {
	h.mu.Lock()
	hooks := slices.Clone(h.failures)
	h.mu.Unlock()
	for _, f := range hooks {
		f(err)
	}
}

func (h *hooks) mutated(m Mutation) {
	h.mu.Lock()
	hooks := slices.Clone(h.mutations)
	h.found++
	h.last = m
	h.mu.Unlock()
	for _, f := range hooks {
		f(m)
	}
}

// mutationsFound returns how many changes there were, and the last one.
func (h *hooks) mutationsFound() (uint64, Mutation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.found, h.last
}

// names returns the names of the functions that are called for failures.
func (h *hooks) names() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for _, f := range h.failures {
		names = append(names, describe.Function(f))
	}
	return strings.Join(names, ", ")
}
