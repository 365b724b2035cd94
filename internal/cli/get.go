package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/near"
	"github.com/kinform/kinform/wire"
)

// getFlags are those of kinform get.
type getFlags struct {
	selection
	where      []string
	by         string
	sortBy     string
	descending bool
	limit      int
	after      string
	format     string
	columns    []string
	managed    bool
	patient    time.Duration

	clauses []whereClause
}

var getFormats = []string{"table", "json", "yaml", "name"}

func newGet(s *screen) *cobra.Command {
	var f getFlags
	return f.command(&cobra.Command{
		Use:   "get RESOURCE...",
		Short: "Query a cluster's objects: several kinds, by fields, sorted, in pages",
		Long: `Read the objects of each RESOURCE into a cache and query it. Fields are read from
the objects' bytes; only what is shown is decoded. The values in Secrets are never
shown.

A field is named by its path, as in kubectl's JSONPath: spec.nodeName,
spec.containers.image, metadata.labels['app.kubernetes.io/name'],
status.conditions[?(@.type=="Ready")].status. --where compares it: with = and !=,
and with <, <=, > and >= as a number, a quantity such as 100Mi, or a text. A path
alone wants the field to be there, and one with a ! before it not to be. Several
--where must all hold. --by finds objects by an index of a field; without a value it
counts the objects of each.

RESOURCE and the choice of the cluster are those of kinform watch. If one of several
cannot be read, the others are shown, and the exit code is 1.`,
		Example: `  kinform get pods,services -n shop -l app=web
  kinform get pods -A --where spec.nodeName=node-1 --sort-by metadata.creationTimestamp
  kinform get pods -A --where 'status.conditions[?(@.type=="Ready")].status!=True'
  kinform get pods -A --by spec.nodeName                how many there are on each node
  kinform get pods -A --by spec.nodeName=node-1 -o name
  kinform get deploy -A --sort-by spec.replicas --desc --limit 20 --columns spec.replicas
  kinform get nodes -o json | jq .`,
	}, verb{
		example: "kinform get pods", formats: getFormats, flags: f.flags, check: f.check,
		run: func(ctx context.Context, args []string) error { return f.run(ctx, s, args) },
	})
}

func (f *getFlags) flags(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.where, "where", nil, "only objects with this `FIELD`, such as spec.nodeName=node-1; may be repeated")
	fl.StringVar(&f.by, "by", "", "index by this `FIELD`: how many objects have which value, or, with =VALUE, those that have it")
	fl.StringVar(&f.sortBy, "sort-by", "", "sort by this `FIELD` (default: by resource, namespace and name)")
	fl.BoolVar(&f.descending, "desc", false, "with --sort-by: the largest first")
	fl.IntVar(&f.limit, "limit", 0, "show so many at most, and how to go on (default: all)")
	fl.StringVar(&f.after, "continue", "", "go on after the page that ended with this `MARK`")
	fl.StringVarP(&f.format, "output", "o", "table", "how objects are shown: "+near.Or(getFormats))
	fl.StringSliceVar(&f.columns, "columns", nil, "`FIELDS` to show in the table")
	fl.BoolVar(&f.managed, "show-managed-fields", false, "with -o json and yaml: metadata.managedFields, too")
	fl.DurationVar(&f.patient, "timeout", 5*time.Minute, "how long to wait for the objects")
}

// check finds what is wrong with the flags before any server is asked.
func (f *getFlags) check(cmd *cobra.Command) error {
	switch {
	case !slices.Contains(getFormats, f.format):
		return badUsage(cmd, fmt.Sprintf("-o %s is not known: use %s", f.format, near.Or(getFormats)))
	case f.limit < 0:
		return badUsage(cmd, fmt.Sprintf("--limit %d: it is 0, for all, or more", f.limit))
	case f.patient <= 0:
		return badUsage(cmd, fmt.Sprintf("--timeout %s leaves no time", f.patient))
	case f.descending && f.sortBy == "":
		return badUsage(cmd, "--desc is for --sort-by")
	case len(f.columns) > 0 && f.format != "table":
		return badUsage(cmd, "--columns is for -o table")
	}
	f.clauses = nil
	for _, text := range f.where {
		w, err := parseWhere(text)
		if err != nil {
			return badUsage(cmd, fmt.Sprintf("--where %s: %v", text, err))
		}
		f.clauses = append(f.clauses, w)
	}
	for flag, path := range map[string]string{"--sort-by": f.sortBy, "--by": f.index().path} {
		if path == "" {
			continue
		}
		if _, err := wire.ParsePath(path, nil); err != nil {
			return badUsage(cmd, fmt.Sprintf("%s %s: %v", flag, path, err))
		}
	}
	if f.after != "" {
		if _, err := parseMark(f.after); err != nil {
			return badUsage(cmd, err.Error())
		}
	}
	return f.checkBy(cmd)
}

// checkBy refuses what --by cannot do, and what has no meaning where it counts.
func (f *getFlags) checkBy(cmd *cobra.Command) error {
	by := f.index()
	switch {
	case f.by == "" || by.op == "=":
		return nil
	case by.op != "":
		return badUsage(cmd, fmt.Sprintf("--by %s: it is FIELD=VALUE, for the objects with that value, or FIELD, which counts those of each; --where compares with %s",
			f.by, near.Or([]string{"!=", "<", "<=", ">", ">="})))
	}
	var given string
	switch {
	case f.format == "name":
		given = "-o name"
	case f.after != "":
		given = "--continue"
	case f.sortBy != "":
		given = "--sort-by"
	case len(f.columns) > 0:
		given = "--columns"
	case f.managed:
		given = "--show-managed-fields"
	default:
		return nil
	}
	return badUsage(cmd, fmt.Sprintf("%s is for objects, and --by %s counts values: give --by %s=VALUE for the objects", given, f.by, f.by))
}

// index is what --by says: a path, and, with "=", a value.
func (f *getFlags) index() whereClause {
	w, err := parseWhere(f.by)
	if err != nil || f.by == "" {
		return whereClause{path: f.by}
	}
	return w
}

func (f *getFlags) run(ctx context.Context, s *screen, args []string) error {
	ctx, cancel := limited(ctx, "--timeout", f.patient)
	defer cancel()
	srv, targets, err := f.targets(ctx, args)
	if err != nil {
		return err
	}
	if err := f.checkPaths(targets); err != nil {
		return err
	}
	if err := f.checkSecrets(targets); err != nil {
		return err
	}
	q, err := f.query(targets)
	if err != nil {
		return err
	}
	synced := func(t *target) bool { return t.inf.HasSynced() }
	return gather(ctx, s, targets, srv, synced, func() error {
		if !slices.ContainsFunc(targets, synced) {
			return nil // an empty answer would be a wrong one
		}
		return q.show(s)
	})
}

// checkPaths refuses fields that no object can have.
func (f *getFlags) checkPaths(targets []*target) error {
	paths := slices.Clone(f.columns)
	for _, w := range f.clauses {
		paths = append(paths, w.path)
	}
	for _, path := range append(paths, f.sortBy, f.index().path) {
		if path == "" {
			continue
		}
		if err := checkPath(targets, path); err != nil {
			return &problem{what: "no such field", why: strings.TrimPrefix(err.Error(), "kinform: "), cause: err}
		}
	}
	return nil
}

// query is what is asked of the caches.
type query struct {
	*getFlags
	targets []*target
	fields  map[*target]map[string]texts
	indexes map[*target]kinform.Index[*unstructuredObject]
}

// query prepares the fields and indexes of all targets.
func (f *getFlags) query(targets []*target) (*query, error) {
	q := &query{f, targets, map[*target]map[string]texts{}, map[*target]kinform.Index[*unstructuredObject]{}}
	paths := slices.Clone(f.columns)
	for _, w := range f.clauses {
		paths = append(paths, w.path)
	}
	if f.sortBy != "" {
		paths = append(paths, f.sortBy)
	}
	for _, t := range targets {
		q.fields[t] = map[string]texts{}
		for _, path := range paths {
			field, err := kinform.FieldOf[[]string](t.inf, path)
			if err != nil {
				return nil, &problem{what: "cannot read " + path, why: innermost(err), cause: err}
			}
			q.fields[t][path] = field
		}
		if by := f.index(); by.path != "" {
			index, err := t.inf.AddFieldIndex("by", by.path)
			if err != nil {
				return nil, &problem{what: "cannot index " + by.path, why: innermost(err), cause: err}
			}
			q.indexes[t] = index
		}
	}
	return q, nil
}

// find returns what is asked for, in its order, from the mark on.
func (q *query) find() ([]found, error) {
	var all []found
	for i, t := range q.targets {
		records := t.inf.Lister().Records(nil)
		if by := q.index(); by.op == "=" {
			records = q.indexes[t].Records(by.value)
		}
		for r := range records {
			if !q.holds(t, r) {
				continue
			}
			f := found{target: t, record: r, order: i}
			if q.sortBy != "" {
				values := q.fields[t][q.sortBy].Get(r)
				if f.by.none = len(values) == 0; !f.by.none {
					f.by = valueOf(values[0])
				}
			}
			all = append(all, f)
		}
	}
	return sortFound(all, q.descending, q.after)
}

func (q *query) holds(t *target, r record) bool {
	for _, w := range q.clauses {
		field := q.fields[t][w.path]
		switch {
		case w.op == "" && r.Has(field.Field), w.op == "!" && !r.Has(field.Field):
		case w.op == "" || w.op == "!" || !w.holds(field.Get(r)):
			return false
		}
	}
	return true
}
