package surface

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
)

// Compare lists what ours lacks to stand in for theirs, one line each:
//
//   - a name of theirs that ours has not, or has as something else;
//   - an interface, a func or a plain type that is not the very same type, unless
//     it is a func of a struct that no program can name;
//   - a struct of our own that lacks a field or a method of theirs;
//   - a function whose signature differs in more than structs of our own, where a
//     result may have another name and must have all fields and methods of theirs;
//   - a constant of another type or value.
//
// Names that only ours has are ignored.
func Compare(theirs, ours *types.Package) []string {
	c := comparison{theirs: theirs, ours: ours}
	for _, name := range theirs.Scope().Names() {
		their := theirs.Scope().Lookup(name)
		if their.Exported() {
			c.object(their, ours.Scope().Lookup(name))
		}
	}
	return c.missing
}

type comparison struct {
	theirs, ours *types.Package
	missing      []string
}

func (c *comparison) report(format string, args ...any) {
	c.missing = append(c.missing, fmt.Sprintf(format, args...))
}

func (c *comparison) object(their, our types.Object) {
	if our == nil {
		c.report("%s %s: missing", kind(their), their.Name())
		return
	}
	if kind(their) != kind(our) {
		c.report("%s %s: is a %s here", kind(their), their.Name(), kind(our))
		return
	}
	switch their := their.(type) {
	case *types.TypeName:
		c.typeName(their, our.(*types.TypeName))
	case *types.Const:
		if our := our.(*types.Const); !c.same(their.Type(), our.Type()) || !constant.Compare(their.Val(), token.EQL, our.Val()) {
			c.report("const %s: is %s %s here, not %s %s", their.Name(), our.Type(), our.Val(), their.Type(), their.Val())
		}
	default:
		if !c.same(their.Type(), our.Type()) {
			c.report("%s %s: is %s here, not %s", kind(their), their.Name(), our.Type(), their.Type())
		}
	}
}

func kind(o types.Object) string {
	switch o.(type) {
	case *types.TypeName:
		return "type"
	case *types.Func:
		return "func"
	case *types.Const:
		return "const"
	}
	return "var"
}

// typeName accepts the very same type, or a struct of our own that can do what
// theirs can.
func (c *comparison) typeName(their, our *types.TypeName) {
	if types.Identical(their.Type(), our.Type()) || sameGeneric(their.Type(), our.Type()) {
		return
	}
	theirNamed, isNamed := types.Unalias(their.Type()).(*types.Named)
	ourNamed, isOurs := types.Unalias(our.Type()).(*types.Named)
	if !isNamed || !isOurs {
		if !c.same(their.Type(), our.Type()) {
			c.report("type %s: is %s here, not %s", their.Name(), our.Type(), their.Type())
		}
		return
	}
	if c.ownFunc(theirNamed, ourNamed) {
		return
	}
	theirStruct, isStruct := theirNamed.Underlying().(*types.Struct)
	ourStruct, isOurStruct := ourNamed.Underlying().(*types.Struct)
	if !isStruct || !isOurStruct || ourNamed.Obj().Pkg() != c.ours {
		c.report("type %s: must be an alias of %s, is %s", their.Name(), their.Type(), our.Type())
		return
	}
	c.fields(their.Name(), theirStruct, ourStruct)
	c.methods(their.Name(), theirNamed, ourNamed)
}

func (c *comparison) fields(name string, theirs, ours *types.Struct) {
	has := map[string]*types.Var{}
	for f := range ours.Fields() {
		has[f.Name()] = f
	}
	for their := range theirs.Fields() {
		if !their.Exported() {
			continue
		}
		our, ok := has[their.Name()]
		switch {
		case !ok:
			c.report("type %s: has no field %s", name, their.Name())
		case their.Embedded() != our.Embedded() || !c.same(their.Type(), our.Type()):
			c.report("type %s: its field %s is %s here, not %s", name, their.Name(), our.Type(), their.Type())
		}
	}
}

// methods compares what pointers to the two structs can do.
func (c *comparison) methods(name string, theirs, ours *types.Named) {
	has := types.NewMethodSet(types.NewPointer(ours))
	for their := range types.NewMethodSet(types.NewPointer(theirs)).Methods() {
		method := their.Obj()
		if !method.Exported() {
			continue
		}
		our := has.Lookup(c.ours, method.Name())
		switch {
		case our == nil:
			c.report("type %s: has no method %s", name, method.Name())
		case !c.same(their.Type(), our.Type()):
			c.report("type %s: its method %s is %s here, not %s", name, method.Name(), our.Type(), their.Type())
		}
	}
}

// Missing loads two packages and compares them.
func Missing(theirs, ours string) ([]string, error) {
	loaded, err := Load(theirs, ours)
	if err != nil {
		return nil, err
	}
	return Compare(loaded[0], loaded[1]), nil
}
