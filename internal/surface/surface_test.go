package surface_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/kinform/kinform/internal/surface"
)

const theirs = `package theirs

type Reader interface{ Read() string }
type Kind string
const Old Kind = "old"
var Err error
type Machine struct { Speed int; hidden int }
func (m *Machine) Run(r Reader) *Machine { return m }
func NewMachine(opts ...Option) *Machine { return nil }
func Watch(f func(m *Machine) error) {}
type Option = func(*secret)
type Setting func(*secret) *secret
func WithSpeed(speed int) Setting { return nil }
type Hook func(*Machine)
type Engine struct { Power int }
func (e *Engine) Start() {}
func NewEngine() *Engine { return nil }
func Stop(e *Engine) {}
type secret struct{}
type Box[T any] struct { V T }
func Open[T any](b Box[T]) T { return b.V }
`

// good is a drop-in: its interfaces are theirs, its machine is its own.
const good = `package ours

import "theirs"

type Reader = theirs.Reader
type Kind = theirs.Kind
const Old = theirs.Old
var Err = theirs.Err
type Machine struct { Speed int; Weight int }
func (m *Machine) Run(r Reader) *Machine { return m }
func (m *Machine) Stop() {}
func NewMachine(opts ...Option) *Machine { return nil }
func Watch(f func(m *theirs.Machine) error) {}
type Option = func(*ownSecret)
type Setting func(*ownSecret) *ownSecret
func WithSpeed(speed int) Setting { return nil }
type Hook = theirs.Hook
type Engine = theirs.Engine
type OwnEngine struct { Power int }
func (e *OwnEngine) Start() {}
func NewEngine() *OwnEngine { return nil }
func Stop(e *Engine) {}
type ownSecret struct{}
type Box[T any] = theirs.Box[T]
func Open[T any](b Box[T]) T { return b.V }
func More() {}
`

func TestCompare(t *testing.T) {
	tests := []struct {
		name     string
		old, new string // one change to the good drop-in
		want     string
	}{
		{name: "all is there"},
		{"a name is missing", "var Err = theirs.Err", "", "var Err: missing"},
		{"a name is something else", "var Err = theirs.Err", "func Err() {}", "var Err: is a func here"},
		{"an interface of our own", "type Reader = theirs.Reader", "type Reader interface{ Read() string }", "type Reader: must be an alias"},
		{"a plain type of our own", "type Kind = theirs.Kind", "type Kind string", "type Kind: must be an alias"},
		{"another value", "const Old = theirs.Old", `const Old theirs.Kind = "new"`, "const Old: is"},
		{"a field is missing", "Speed int; ", "", "type Machine: has no field Speed"},
		{"a field of another type", "Speed int", "Speed string", "type Machine: its field Speed"},
		{"a method is missing", "func (m *Machine) Run(r Reader) *Machine { return m }", "", "type Machine: has no method Run"},
		{"a method with another signature", "Run(r Reader) *Machine { return m }", "Run(r Reader) error { return nil }", "type Machine: its method Run"},
		{"a function with another result", "func NewMachine(opts ...Option) *Machine", "func NewMachine(opts ...Option) error", "func NewMachine: is"},
		{"a function with another parameter", "func Watch(f func(m *theirs.Machine) error) {}", "func Watch(f func(m *theirs.Machine)) {}", "func Watch: is"},
		{"a func of our own that programs can write", "type Hook = theirs.Hook", "type Hook func(*Machine)", "type Hook: must be an alias"},
		{"a func of our own about something else", "type Setting func(*ownSecret) *ownSecret", "type Setting func(*ownSecret)", "type Setting: must be an alias"},
		{"a func of our own that is given otherwise", "func WithSpeed(speed int) Setting", "func WithSpeed(speed string) Setting", "func WithSpeed: is"},
		{"a result that lacks a field", "type OwnEngine struct { Power int }", "type OwnEngine struct {}", "func NewEngine: is"},
		{"a result that lacks a method", "func (e *OwnEngine) Start() {}", "", "func NewEngine: is"},
		{"a parameter under another name", "func Stop(e *Engine) {}", "func Stop(e *OwnEngine) {}", "func Stop: is"},
		{"a generic type of our own", "type Box[T any] = theirs.Box[T]", "type Box[T any] struct { V T }", "func Open: is"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !strings.Contains(good, test.old) {
				t.Fatalf("the drop-in has no %q to change", test.old)
			}
			their := check(t, "theirs", theirs, nil)
			our := check(t, "ours", strings.Replace(good, test.old, test.new, 1), their)
			got := surface.Compare(their, our)
			if test.want == "" && len(got) > 0 {
				t.Errorf("complains: %q", got)
			}
			if test.want != "" && !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, test.want) }) {
				t.Errorf("got %q, want a line that begins with %q", got, test.want)
			}
		})
	}
}

// check type-checks a package from source.
func check(t *testing.T, path, source string, dependency *types.Package) *types.Package {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path+".go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: only{dependency}}
	pkg, err := config.Check(path, files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

// only imports one package.
type only struct{ pkg *types.Package }

func (o only) Import(path string) (*types.Package, error) {
	if o.pkg != nil && o.pkg.Path() == path {
		return o.pkg, nil
	}
	return importer.Default().Import(path)
}

func TestLoadSharesTypes(t *testing.T) {
	loaded, err := surface.Load("io", "net/http")
	if err != nil {
		t.Fatal(err)
	}
	reader := loaded[0].Scope().Lookup("Reader").Type()
	body := loaded[1].Scope().Lookup("NewRequest").Type().(*types.Signature).Params().At(2).Type()
	if !types.Identical(reader, body) {
		t.Errorf("io.Reader and the reader of http.NewRequest differ: %v, %v", reader, body)
	}
}

func TestLoadSaysWhatFailed(t *testing.T) {
	_, err := surface.Load("no/such/package")
	if err == nil || !strings.Contains(err.Error(), "no/such/package") {
		t.Errorf("got %v, want an error that names the package", err)
	}
}
