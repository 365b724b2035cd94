package main

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"
)

func doc(name, folder string) string {
	return fmt.Sprintf("// Package %s stands in for k8s.io/client-go/informers/%s: its types are\n// client-go's, its informers are kinform's.\n", name, folder)
}

// writeGroup writes the package of a group.
func writeGroup(group string, now, before *release) error {
	_, inNewer := now.groups[group]
	_, inOlder := before.groups[group]
	p := newPkg(group, group, doc(group, group))
	p.entry(place(inNewer, inOlder), group, "group's versions", "&group{%s, f, namespace, tweakListOptions}")
	p.printf(place(inNewer, inOlder), `
// group has the versions that are ours, and client-go's others.
type group struct {
	Interface
	factory          internalinterfaces.SharedInformerFactory
	namespace        string
	tweakListOptions internalinterfaces.TweakListOptionsFunc
}
`)
	versions := now.groups[group]
	if !inNewer {
		versions = nil
	}
	for _, version := range versions {
		m := place(true, slices.Contains(before.groups[group], version))
		p.imports(m, version, ours+"/informers/"+group+"/"+version)
		p.printf(m, `
// %s gives this version's informers.
func (g *group) %[1]s() %[2]s.Interface { return %[2]s.New(g.factory, g.namespace, g.tweakListOptions) }
`, strings.ToUpper(version[:1])+version[1:], version)
	}
	return p.write()
}

// entry writes what packages of groups and of versions have alike.
func (p *pkg) entry(m minor, folder, what, result string) {
	p.imports(m, "clientgo", "k8s.io/client-go/informers/"+folder)
	p.imports(m, "internalinterfaces", "k8s.io/client-go/informers/internalinterfaces")
	p.imports(m, "kinds", ours+"/informers/internal/kinds")
	p.printf(m, `// Interface gives access to this %s.
type Interface = clientgo.Interface

// New returns the Interface of a factory.
func New(f internalinterfaces.SharedInformerFactory, namespace string, tweakListOptions internalinterfaces.TweakListOptionsFunc) Interface {
	return %s
}
`, what, fmt.Sprintf(result, "clientgo.New(kinds.Through(f, namespace, tweakListOptions), namespace, tweakListOptions)"))
}

// writeVersion writes the package of a version.
func writeVersion(folder string, now, before *release) error {
	_, inNewer := now.kinds[folder]
	_, inOlder := before.kinds[folder]
	p := newPkg(folder, path.Base(folder), doc(path.Base(folder), folder))
	p.entry(place(inNewer, inOlder), folder, "version's informers", "version{%s}")
	p.printf(place(inNewer, inOlder), "\n// version gives informers with listers of our own.\ntype version struct{ Interface }\n")
	for _, k := range merge(now.kinds[folder], before.kinds[folder]) {
		inNewer, inOlder := slices.Contains(now.kinds[folder], k), slices.Contains(before.kinds[folder], k)
		p.kind(place(inNewer, inOlder), folder, k, plain)
		if inNewer {
			p.kind(place(inNewer, inOlder), folder, k, lister)
			p.kind(onlyNewer, folder, k, typed)
			p.kind(onlyNewer, folder, k, access("Typed"))
		}
		if inNewer && inOlder {
			p.kind(asOlder, folder, k, access(""))
		}
	}
	return p.write()
}

func (p *pkg) kind(m minor, folder string, k kind, t *template.Template) {
	p.imports(m, "time", "time")
	p.imports(m, "api", k.API)
	p.imports(m, "clientgo", "k8s.io/client-go/informers/"+folder)
	p.imports(m, "internalinterfaces", "k8s.io/client-go/informers/internalinterfaces")
	p.imports(m, "kubernetes", "k8s.io/client-go/kubernetes")
	p.imports(m, "labels", "k8s.io/apimachinery/pkg/labels")
	p.imports(m, "listers", "k8s.io/client-go/listers/"+folder)
	p.imports(m, "cache", ours+"/cache")
	p.imports(m, "kinds", ours+"/informers/internal/kinds")
	if err := t.Execute(p.code[m], k); err != nil {
		panic(err) // the template and the struct are both ours
	}
}

const signatures = `
{{define "client"}}client kubernetes.Interface{{if .Namespaced}}, namespace string{{end}}{{end}}
{{define "given"}}client{{if .Namespaced}}, namespace{{end}}{{end}}
`

// plain is what both minors have of a kind.
var plain = template.Must(template.New("plain").Parse(signatures + `
// {{.Name}}Informer gives the informer and the lister of this kind.
type {{.Name}}Informer = clientgo.{{.Name}}Informer

// New{{.Name}}Informer returns an informer that is shared with nobody.
func New{{.Name}}Informer({{template "client" .}}, resyncPeriod time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	return New{{.Name}}InformerWithOptions({{template "given" .}}, internalinterfaces.InformerOptions{ResyncPeriod: resyncPeriod, Indexers: indexers})
}

// NewFiltered{{.Name}}Informer is New{{.Name}}Informer with a tweak of the list options.
func NewFiltered{{.Name}}Informer({{template "client" .}}, resyncPeriod time.Duration, indexers cache.Indexers, tweakListOptions internalinterfaces.TweakListOptionsFunc) cache.SharedIndexInformer {
	return New{{.Name}}InformerWithOptions({{template "given" .}}, internalinterfaces.InformerOptions{ResyncPeriod: resyncPeriod, Indexers: indexers, TweakListOptions: tweakListOptions})
}

// New{{.Name}}InformerWithOptions is New{{.Name}}Informer with more to say.
func New{{.Name}}InformerWithOptions({{template "client" .}}, options internalinterfaces.InformerOptions) cache.SharedIndexInformer {
	return kinds.New[api.{{.Name}}](client, {{if .Namespaced}}namespace{{else}}""{{end}}, options)
}
`))

// typed is what the newer minor has besides.
var typed = template.Must(template.New("typed").Parse(signatures + `
// What the informer of this kind is and takes, with the type of its objects.
type (
	Typed{{.Name}}Informer = clientgo.Typed{{.Name}}Informer
	{{.Name}}IndexInformer = clientgo.{{.Name}}IndexInformer
	{{.Name}}HandlerFuncs = clientgo.{{.Name}}HandlerFuncs
	{{.Name}}DetailedHandlerFuncs = clientgo.{{.Name}}DetailedHandlerFuncs
	{{.Name}}FilteringHandler = clientgo.{{.Name}}FilteringHandler
	{{.Name}}Indexers = clientgo.{{.Name}}Indexers
	Deleted{{.Name}} = clientgo.Deleted{{.Name}}
)

// NewTyped{{.Name}}Informer is New{{.Name}}Informer with the type of its objects.
func NewTyped{{.Name}}Informer({{template "client" .}}, resyncPeriod time.Duration, indexers {{.Name}}Indexers) {{.Name}}IndexInformer {
	return To{{.Name}}IndexInformer(New{{.Name}}Informer({{template "given" .}}, resyncPeriod, cache.TypedIndexersToIndexers(indexers)))
}

// NewTypedFiltered{{.Name}}Informer is NewFiltered{{.Name}}Informer with the type of its objects.
func NewTypedFiltered{{.Name}}Informer({{template "client" .}}, resyncPeriod time.Duration, indexers {{.Name}}Indexers, tweakListOptions internalinterfaces.TweakListOptionsFunc) {{.Name}}IndexInformer {
	return To{{.Name}}IndexInformer(NewFiltered{{.Name}}Informer({{template "given" .}}, resyncPeriod, cache.TypedIndexersToIndexers(indexers), tweakListOptions))
}

// NewTyped{{.Name}}InformerWithOptions is New{{.Name}}InformerWithOptions with the type of its objects.
func NewTyped{{.Name}}InformerWithOptions({{template "client" .}}, options internalinterfaces.InformerOptions) {{.Name}}IndexInformer {
	return To{{.Name}}IndexInformer(New{{.Name}}InformerWithOptions({{template "given" .}}, options))
}

// ToTyped{{.Name}}Informer adds the type of its objects to an informer of this kind.
func ToTyped{{.Name}}Informer(informer {{.Name}}Informer) Typed{{.Name}}Informer {
	return clientgo.ToTyped{{.Name}}Informer(informer)
}

// To{{.Name}}IndexInformer adds the type of its objects to an informer of this kind.
func To{{.Name}}IndexInformer(informer cache.SharedIndexInformer) {{.Name}}IndexInformer {
	return clientgo.To{{.Name}}IndexInformer(informer)
}
`))

// lister is how a kind's objects are listed: as client-go does, but for the selection,
// which is made before anything is decoded.
var lister = template.Must(template.New("lister").Funcs(template.FuncMap{"lower": lowerFirst}).Parse(`
// {{.Getter}} gives the informer and the lister of this kind.
func (v version) {{.Getter}}() {{lower .Name}}Access { return {{lower .Name}}Informer{v.Interface.{{.Getter}}()} }

type {{lower .Name}}Informer struct{ {{lower .Name}}Access }

// Lister returns a lister of what the informer has.
func (i {{lower .Name}}Informer) Lister() listers.{{.Name}}Lister {
	x := i.Informer().GetIndexer()
	return {{lower .Name}}Lister{listers.New{{.Name}}Lister(x), kinds.ListerOf[*api.{{.Name}}](x)}
}

type {{lower .Name}}Lister struct {
	listers.{{.Name}}Lister
	all kinds.Lister[*api.{{.Name}}]
}

// List returns what has matching labels.
func (l {{lower .Name}}Lister) List(selector labels.Selector) ([]*api.{{.Name}}, error) { return l.all.List(selector) }
{{if .Namespaced}}
// {{.Getter}} returns a lister of a namespace.
func (l {{lower .Name}}Lister) {{.Getter}}(namespace string) listers.{{.Name}}NamespaceLister {
	return {{lower .Name}}NamespaceLister{l.{{.Name}}Lister.{{.Getter}}(namespace), l.all.In(namespace)}
}

type {{lower .Name}}NamespaceLister struct {
	listers.{{.Name}}NamespaceLister
	in kinds.Lister[*api.{{.Name}}]
}

// List returns what has matching labels.
func (l {{lower .Name}}NamespaceLister) List(selector labels.Selector) ([]*api.{{.Name}}, error) {
	return l.in.List(selector)
}
{{end}}`))

// access is what an accessor gives: in the newer minor, the informer with its type.
func access(typed string) *template.Template {
	return template.Must(template.New("access").Funcs(template.FuncMap{"lower": lowerFirst}).Parse(`
type {{lower .Name}}Access = clientgo.` + typed + `{{.Name}}Informer
`))
}

// checkNames fails if client-go has a name that the templates do not have, or the
// other way round.
func (r *release) checkNames(isNewer bool) error {
	for folder, names := range r.names {
		var code bytes.Buffer
		for _, k := range r.kinds[folder] {
			_ = plain.Execute(&code, k)
			if isNewer {
				_ = typed.Execute(&code, k)
			}
		}
		written := []string{"Interface", "New"}
		for line := range strings.Lines(code.String()) {
			if name := nameOf(line); name != "" {
				written = append(written, name)
			}
		}
		slices.Sort(names)
		slices.Sort(written)
		if !slices.Equal(names, written) {
			return fmt.Errorf("%s/informers/%s has the names\n%v\nand the templates write\n%v", r.dir, folder, names, written)
		}
	}
	return nil
}

// nameOf returns the name that a line of a template declares, if any.
func nameOf(line string) string {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n(", r) })
	switch {
	case strings.HasPrefix(line, "func "):
		return words[1]
	case strings.HasPrefix(line, "type ") && len(words) > 2:
		return words[1]
	case strings.HasPrefix(line, "\t") && len(words) == 3 && words[1] == "=":
		return words[0]
	}
	return ""
}
