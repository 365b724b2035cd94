// Command generate writes the parts of the drop-in for client-go's informers that
// are the same for every kind, for the two minors of client-go that are served:
// what both have into zz_generated.go, what one of them has into a file behind the
// build tag of that minor.
//
// It reads client-go's own generated informers, and fails when they have a name
// that it does not know how to offer.
package main

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// The minors of client-go that are served.
const newer, older = "v0.37.2", "v0.36.3"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run writes the files below the working directory, which is that of package
// informers.
func run() error {
	now, err := read(newer)
	if err != nil {
		return err
	}
	before, err := read(older)
	if err != nil {
		return err
	}
	for _, r := range []*release{now, before} {
		if err := r.checkNames(r == now); err != nil {
			return err
		}
	}
	if err := writeFactory(now, before); err != nil {
		return err
	}
	if err := writeTable(now, before); err != nil {
		return err
	}
	for _, group := range union(now.groups, before.groups) {
		if err := writeGroup(group, now, before); err != nil {
			return err
		}
	}
	for _, folder := range union(now.kinds, before.kinds) {
		if err := writeVersion(folder, now, before); err != nil {
			return err
		}
	}
	return nil
}

// union returns the keys of two maps, sorted.
func union[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// place tells where something belongs that one or both of the minors have.
func place(inNewer, inOlder bool) minor {
	switch {
	case inNewer && inOlder:
		return both
	case inNewer:
		return onlyNewer
	}
	return onlyOlder
}

// writeFactory writes the accessors of the factory.
func writeFactory(now, before *release) error {
	p := newPkg(".", "informers", "")
	for _, name := range union(now.accessors, before.accessors) {
		_, inNewer := now.accessors[name]
		from, inOlder := before.accessors[name]
		if inNewer {
			from = now.accessors[name]
		}
		group := path.Base(from)
		m := place(inNewer, inOlder)
		p.imports(m, group, ours+"/informers/"+group)
		p.printf(m, "func (f *sharedInformerFactory) %s() %s.Interface { return %[2]s.New(f, f.namespace, f.tweakListOptions) }\n", name, group)
	}
	return p.write()
}

// writeTable writes the table of all kinds.
func writeTable(now, before *release) error {
	p := newPkg("internal/kinds", "kinds", "")
	p.imports(both, "kubernetes", "k8s.io/client-go/kubernetes")
	lines := map[minor]map[string][]string{both: {}, onlyNewer: {}, onlyOlder: {}}
	clients := map[string]string{}
	for _, folder := range union(now.kinds, before.kinds) {
		for _, k := range merge(now.kinds[folder], before.kinds[folder]) {
			m := place(slices.Contains(now.kinds[folder], k), slices.Contains(before.kinds[folder], k))
			client := now.clients[k.Client]
			if m == onlyOlder {
				client = before.clients[k.Client]
			}
			api := strings.ReplaceAll(strings.TrimPrefix(k.API, "k8s.io/api/"), "/", "")
			scope := "cluster"
			if k.Namespaced {
				scope = "namespaced"
			}
			p.imports(m, "kubernetes", "k8s.io/client-go/kubernetes")
			p.imports(m, api, k.API)
			p.imports(m, api+"client", client)
			g := lowerFirst(k.Client)
			clients[g] = fmt.Sprintf("groupOf[*%sclient.%sClient](%q, %q, kubernetes.Interface.%[2]s)", api, k.Client, k.Group, k.Version)
			lines[m][g] = append(lines[m][g], fmt.Sprintf("%s(%s, %q, &%s.%s{}, %s.%sInterface.%s),",
				scope, g, k.Resource, api, k.Name, api+"client", k.Client, k.Getter))
		}
	}
	names := map[minor]string{both: "inBothMinors", onlyNewer: "inThisMinor", onlyOlder: "inThisMinor"}
	for m, groups := range lines {
		p.printf(m, "func %s() []Kind {\n", names[m])
		for _, g := range slices.Sorted(maps.Keys(groups)) {
			p.printf(m, "%s := %s\n", g, clients[g])
		}
		p.printf(m, "return []Kind{\n")
		for _, g := range slices.Sorted(maps.Keys(groups)) {
			p.printf(m, "%s\n", strings.Join(groups[g], "\n"))
		}
		p.printf(m, "}\n}\n")
	}
	return p.write()
}

// merge returns the kinds of both, sorted by name.
func merge(a, b []kind) []kind {
	all := slices.Clone(a)
	for _, k := range b {
		if !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b kind) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
