package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// release is what the generator wants to know of one version of client-go.
type release struct {
	dir       string
	accessors map[string]string   // of the factory, by name: the group that they give
	groups    map[string][]string // the versions of each group
	kinds     map[string][]kind   // of each "group/version"
	clients   map[string]string   // of the clientset, by method: the client's package
	names     map[string][]string // the exported names of each package
	resources map[string]string   // of each "group/version/Getter", as "core/v1/Pods"
}

// kind is one informer.
type kind struct {
	Name                     string // Pod
	Group, Version, Resource string
	Namespaced               bool
	API                      string // the package of its type
	Client, Getter           string // CoreV1, Pods
}

// read reads a version of client-go from the module cache.
func read(version string) (*release, error) {
	out, err := exec.Command("go", "mod", "download", "-json", "k8s.io/client-go@"+version).Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download k8s.io/client-go@%s: %w", version, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return nil, err
	}
	r := &release{
		dir:       module.Dir,
		accessors: map[string]string{},
		groups:    map[string][]string{},
		kinds:     map[string][]kind{},
		clients:   map[string]string{},
		names:     map[string][]string{},
		resources: map[string]string{},
	}
	if err := r.readInterface("informers/factory.go", "SharedInformerFactory", r.accessors); err != nil {
		return nil, err
	}
	if err := r.readInterface("kubernetes/clientset.go", "Interface", r.clients); err != nil {
		return nil, err
	}
	if err := r.readResources(); err != nil {
		return nil, err
	}
	for _, group := range slices.Sorted(maps.Values(r.accessors)) {
		if err := r.readGroup(path.Base(group)); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// readInterface notes the methods of an interface that have no parameters and
// give something of another package, with that package.
func (r *release) readInterface(file, name string, methods map[string]string) error {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(r.dir, file), nil, 0)
	if err != nil {
		return err
	}
	imports := importsOf(f)
	for node := range ast.Preorder(f) {
		spec, ok := node.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			continue
		}
		for _, m := range spec.Type.(*ast.InterfaceType).Methods.List {
			f, ok := m.Type.(*ast.FuncType)
			if !ok || len(m.Names) == 0 || f.Params.NumFields() > 0 || f.Results.NumFields() != 1 {
				continue
			}
			if result, ok := f.Results.List[0].Type.(*ast.SelectorExpr); ok {
				methods[m.Names[0].Name] = imports[result.X.(*ast.Ident).Name]
			}
		}
		return nil
	}
	return fmt.Errorf("%s has no type %s", file, name)
}

// readResources reads the factory's ForResource, a case for each resource. The
// files of the kinds name resources, too, but only to label metrics, and those
// names are guesses.
func (r *release) readResources() error {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(r.dir, "informers/generic.go"), nil, 0)
	if err != nil {
		return err
	}
	for node := range ast.Preorder(f) {
		clause, ok := node.(*ast.CaseClause)
		if !ok || len(clause.List) != 1 {
			continue
		}
		// case corev1.SchemeGroupVersion.WithResource("pods"):
		literal, ok := clause.List[0].(*ast.CallExpr).Args[0].(*ast.BasicLit)
		if !ok {
			return fmt.Errorf("a case of ForResource is not as expected: %v", clause.List[0])
		}
		resource, _ := strconv.Unquote(literal.Value)
		// … f.Core().V1().Pods().Informer() …
		for n := range ast.Preorder(clause) {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				continue
			}
			if names := chain(call); len(names) == 5 && names[4] == "Informer" {
				r.resources[path.Base(r.accessors[names[1]])+"/"+strings.ToLower(names[2])+"/"+names[3]] = resource
			}
		}
	}
	return nil
}

func (r *release) readGroup(group string) error {
	if err := r.readNames(group); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(r.dir, "informers", group))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		r.groups[group] = append(r.groups[group], e.Name())
		if err := r.readVersion(group + "/" + e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) readVersion(folder string) error {
	if err := r.readNames(folder); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(r.dir, "informers", folder, "*.go"))
	if err != nil {
		return err
	}
	for _, name := range files {
		if filepath.Base(name) == "interface.go" {
			continue
		}
		k, err := readKind(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if k.Resource = r.resources[folder+"/"+k.Getter]; k.Resource == "" {
			return fmt.Errorf("%s: ForResource does not have %s", name, k.Getter)
		}
		r.kinds[folder] = append(r.kinds[folder], k)
	}
	return nil
}

// readNames notes the exported names of a package below informers.
func (r *release) readNames(folder string) error {
	files, err := filepath.Glob(filepath.Join(r.dir, "informers", folder, "*.go"))
	if err != nil {
		return err
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			r.names[folder] = append(r.names[folder], declared(d)...)
		}
	}
	return nil
}

func declared(d ast.Decl) []string {
	var names []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return !ast.IsExported(n) })
}

// readKind reads what a file of client-go's generated informers says of its kind:
// it stands in the function that lists and watches.
func readKind(name string) (kind, error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		return kind{}, err
	}
	imports := importsOf(f)
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || !strings.HasSuffix(fn.Name.Name, "InformerWithOptions") {
			continue
		}
		if k := readBody(fn, imports); k.Version != "" {
			return k, k.check()
		}
	}
	return kind{}, errors.New("no function New…InformerWithOptions that names a version")
}

func readBody(fn *ast.FuncDecl, imports map[string]string) kind {
	k := kind{Namespaced: fn.Type.Params.List[1].Names[0].Name == "namespace"}
	for node := range ast.Preorder(fn.Body) {
		switch n := node.(type) {
		case *ast.CompositeLit:
			t, ok := n.Type.(*ast.SelectorExpr)
			if !ok {
				continue
			}
			switch {
			case t.Sel.Name == "GroupVersionResource":
				k.Group, k.Version = text(n.Elts[0]), text(n.Elts[1])
			case strings.HasPrefix(imports[t.X.(*ast.Ident).Name], "k8s.io/api/"):
				k.Name, k.API = t.Sel.Name, imports[t.X.(*ast.Ident).Name]
			}
		case *ast.CallExpr:
			// client.CoreV1().Pods(namespace).List(…)
			if names := chain(n); len(names) == 4 && names[0] == "client" && names[3] == "List" {
				k.Client, k.Getter = names[1], names[2]
			}
		}
	}
	return k
}

func (k kind) check() error {
	if k.Name == "" || k.API == "" || k.Client == "" || k.Getter == "" {
		return fmt.Errorf("cannot make out the kind: %+v", k)
	}
	return nil
}

// chain returns the names in a chain of calls, first to last.
func chain(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.CallExpr:
		return chain(e.Fun)
	case *ast.SelectorExpr:
		return append(chain(e.X), e.Sel.Name)
	case *ast.Ident:
		return []string{e.Name}
	}
	return nil
}

func text(e ast.Expr) string {
	literal, ok := e.(*ast.KeyValueExpr).Value.(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, _ := strconv.Unquote(literal.Value)
	return s
}

// importsOf maps the names under which a file imports packages to their paths.
func importsOf(f *ast.File) map[string]string {
	imports := map[string]string{}
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = p
	}
	return imports
}
