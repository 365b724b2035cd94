package surface

import "go/types"

// same reports whether a value of our type goes where theirs goes, when a struct
// of our own is taken for theirs of the same name.
func (c *comparison) same(their, our types.Type) bool {
	if types.Identical(their, our) {
		return true
	}
	their, our = types.Unalias(their), types.Unalias(our)
	switch their := their.(type) {
	case *types.Named:
		our, ok := our.(*types.Named)
		return ok && c.replaces(their, our)
	case *types.Pointer:
		our, ok := our.(*types.Pointer)
		return ok && c.same(their.Elem(), our.Elem())
	case *types.Slice:
		our, ok := our.(*types.Slice)
		return ok && c.same(their.Elem(), our.Elem())
	case *types.Map:
		our, ok := our.(*types.Map)
		return ok && c.same(their.Key(), our.Key()) && c.same(their.Elem(), our.Elem())
	case *types.Chan:
		our, ok := our.(*types.Chan)
		return ok && their.Dir() == our.Dir() && c.same(their.Elem(), our.Elem())
	case *types.Signature:
		our, ok := our.(*types.Signature)
		return ok && their.Variadic() == our.Variadic() &&
			their.TypeParams().Len() == 0 && our.TypeParams().Len() == 0 &&
			c.sameTuple(their.Params(), our.Params()) && c.sameResults(their.Results(), our.Results())
	}
	return false
}

// sameResults is sameTuple for results, which may also be structs of our own under
// other names than theirs, if they have all that theirs have.
func (c *comparison) sameResults(theirs, ours *types.Tuple) bool {
	if theirs.Len() != ours.Len() {
		return false
	}
	for i := range theirs.Len() {
		their, our := theirs.At(i).Type(), ours.At(i).Type()
		if !c.same(their, our) && !c.surpasses(their, our) {
			return false
		}
	}
	return true
}

// surpasses reports whether ours points at a struct of our own that has the fields and
// methods of the struct that theirs points at.
func (c *comparison) surpasses(their, our types.Type) bool {
	theirPointer, ok := types.Unalias(their).(*types.Pointer)
	if !ok {
		return false
	}
	ourPointer, ok := types.Unalias(our).(*types.Pointer)
	if !ok {
		return false
	}
	theirNamed, ok := types.Unalias(theirPointer.Elem()).(*types.Named)
	if !ok || theirNamed.Obj().Pkg() != c.theirs {
		return false
	}
	ourNamed, ok := types.Unalias(ourPointer.Elem()).(*types.Named)
	if !ok || ourNamed.Obj().Pkg() != c.ours {
		return false
	}
	theirStruct, ok := theirNamed.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	ourStruct, ok := ourNamed.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	alone := comparison{theirs: c.theirs, ours: c.ours}
	alone.fields(ourNamed.Obj().Name(), theirStruct, ourStruct)
	alone.methods(ourNamed.Obj().Name(), theirNamed, ourNamed)
	return len(alone.missing) == 0
}

func (c *comparison) sameTuple(theirs, ours *types.Tuple) bool {
	if theirs.Len() != ours.Len() {
		return false
	}
	for i := range theirs.Len() {
		if !c.same(theirs.At(i).Type(), ours.At(i).Type()) {
			return false
		}
	}
	return true
}

// replaces reports whether our struct stands for theirs: by its name, or, where
// neither has a name that a program can say, by its place.
func (c *comparison) replaces(their, our *types.Named) bool {
	theirName, ourName := their.Obj(), our.Obj()
	if theirName.Pkg() != c.theirs || ourName.Pkg() != c.ours {
		return false
	}
	_, isStruct := their.Underlying().(*types.Struct)
	_, isOurStruct := our.Underlying().(*types.Struct)
	if !isStruct || !isOurStruct {
		return theirName.Name() == ourName.Name() && c.ownFunc(their, our)
	}
	return theirName.Name() == ourName.Name() || !theirName.Exported() && !ourName.Exported()
}

// ownFunc reports whether a func type of our own stands for theirs. It does if it is
// about a struct that no program can name: only the package itself makes such
// functions, and only it calls them.
func (c *comparison) ownFunc(their, our *types.Named) bool {
	theirs, isFunc := their.Underlying().(*types.Signature)
	ours, isOurFunc := our.Underlying().(*types.Signature)
	return isFunc && isOurFunc && our.Obj().Pkg() == c.ours && c.takesSecret(theirs) && c.same(theirs, ours)
}

// takesSecret reports whether a parameter points at a struct that their package
// keeps to itself.
func (c *comparison) takesSecret(f *types.Signature) bool {
	for p := range f.Params().Variables() {
		pointer, ok := types.Unalias(p.Type()).(*types.Pointer)
		if !ok {
			continue
		}
		named, ok := types.Unalias(pointer.Elem()).(*types.Named)
		if ok && named.Obj().Pkg() == c.theirs && !named.Obj().Exported() {
			return true
		}
	}
	return false
}

// sameGeneric reports whether ours is a generic alias of their generic type.
func sameGeneric(their, our types.Type) bool {
	theirNamed, ok := types.Unalias(their).(*types.Named)
	if !ok || theirNamed.TypeParams().Len() == 0 {
		return false
	}
	alias, ok := our.(*types.Alias)
	if !ok || alias.TypeParams().Len() != theirNamed.TypeParams().Len() {
		return false
	}
	ourNamed, ok := types.Unalias(alias).(*types.Named)
	if !ok || ourNamed.Origin() != theirNamed.Origin() {
		return false
	}
	for i := range alias.TypeParams().Len() {
		if !types.Identical(ourNamed.TypeArgs().At(i), alias.TypeParams().At(i)) {
			return false
		}
	}
	return true
}
