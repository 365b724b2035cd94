package kinform_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// public are the packages whose documentation people read, by name.
var public = map[string]string{
	"kinform": ".", "engine": "internal/engine", "wire": "wire", "kube": "kube", "describe": "describe", "check": "check",
	"cache": "cache", "predicate": "predicate", "dynamicinformer": "dynamicinformer", "metadatainformer": "metadatainformer", "apisim": "apisim", "debug": "debug",
}

// surface is what a package declares.
type surface struct {
	files   []*ast.File
	names   map[string]bool
	members map[string]map[string]bool // of types that are declared in full
}

// TestDocNamesExist: links in doc comments ([Name], [Type.Member]), members of the
// package's types (Options.Policy) and names of other packages of this module
// (wire.Limits) exist.
func TestDocNamesExist(t *testing.T) {
	all := map[string]*surface{}
	for name, dir := range public {
		all[name] = parsed(t, dir)
	}
	link := regexp.MustCompile(`\[\*?([A-Z]\w*)(?:\.(\w+))?\]`)
	member := regexp.MustCompile(`(?:^|[^\w."/])([A-Z]\w*)\.([A-Z]\w*)`)
	foreign := regexp.MustCompile(`(?:^|[^\w."/])([a-z]+)\.([A-Z]\w*)`)
	for pkg, s := range all {
		for _, text := range s.docs() {
			for _, m := range link.FindAllStringSubmatch(text, -1) {
				if !s.names[m[1]] || m[2] != "" && !s.has(m[1], m[2]) {
					t.Errorf("package %s: %s is no name, in %q", pkg, m[0], first(text))
				}
			}
			for _, m := range member.FindAllStringSubmatch(text, -1) {
				if s.names[m[1]] && !s.has(m[1], m[2]) {
					t.Errorf("package %s: %s has no %s, in %q", pkg, m[1], m[2], first(text))
				}
			}
			for _, m := range foreign.FindAllStringSubmatch(text, -1) {
				if o := all[m[1]]; o != nil && m[1] != pkg && !o.names[m[2]] {
					t.Errorf("package %s: %s has no %s, in %q", pkg, m[1], m[2], first(text))
				}
			}
		}
	}
}

func first(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func parsed(t *testing.T, dir string) *surface {
	t.Helper()
	notTests := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	pkgs, err := parser.ParseDir(token.NewFileSet(), dir, notTests, parser.ParseComments) //nolint:staticcheck // build tags do not matter here
	if err != nil {
		t.Fatal(err)
	}
	s := &surface{names: map[string]bool{}, members: map[string]map[string]bool{}}
	for _, pkg := range pkgs {
		for _, f := range pkg.Files {
			s.files = append(s.files, f)
			for _, d := range f.Decls {
				s.declare(d)
			}
		}
	}
	if len(s.names) == 0 {
		t.Fatalf("%s declares nothing", dir)
	}
	return s
}

func (s *surface) declare(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			s.names[d.Name.Name] = true
			return
		}
		typ := strings.TrimLeft(typeName(d.Recv.List[0].Type), "*")
		s.member(typ, d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					s.names[n.Name] = true
				}
			case *ast.TypeSpec:
				s.names[spec.Name.Name] = true
				s.declareType(spec)
			}
		}
	}
}

// declareType notes the members of a type. Those of an alias, and of a type with
// something embedded, are not all known; "*" says so.
func (s *surface) declareType(spec *ast.TypeSpec) {
	name := spec.Name.Name
	if spec.Assign.IsValid() {
		s.member(name, "*")
	}
	var fields *ast.FieldList
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		fields = typ.Fields
	case *ast.InterfaceType:
		fields = typ.Methods
	default:
		return
	}
	for _, f := range fields.List {
		if len(f.Names) == 0 {
			s.member(name, "*")
		}
		for _, n := range f.Names {
			s.member(name, n.Name)
		}
	}
}

func (s *surface) member(typ, name string) {
	if s.members[typ] == nil {
		s.members[typ] = map[string]bool{}
	}
	s.members[typ][name] = true
}

func (s *surface) has(typ, name string) bool { return s.members[typ][name] || s.members[typ]["*"] }

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// docs are the doc comments: of the package, of declarations, of fields.
func (s *surface) docs() (texts []string) {
	note := func(g *ast.CommentGroup) {
		if g != nil {
			texts = append(texts, g.Text())
		}
	}
	for _, f := range s.files {
		note(f.Doc)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				note(n.Doc)
				return false
			case *ast.GenDecl:
				note(n.Doc)
			case *ast.TypeSpec:
				note(n.Doc)
			case *ast.ValueSpec:
				note(n.Doc)
				note(n.Comment)
			case *ast.Field:
				note(n.Doc)
				note(n.Comment)
			}
			return true
		})
	}
	return texts
}
