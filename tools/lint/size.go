package main

import (
	"go/ast"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// What is longer belongs in several files or functions.
const (
	mostFile     = 400
	mostFunction = 60
)

// size reports files and functions that are too long to be read at once.
var size = &analysis.Analyzer{
	Name: "size",
	Doc:  "reports files above 400 lines and functions above 60",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, f := range pass.Files {
			name := pass.Fset.Position(f.Pos()).Filename
			if ast.IsGenerated(f) || strings.HasSuffix(name, "_test.go") {
				continue
			}
			if n := pass.Fset.Position(f.FileEnd).Line - 1; n > mostFile {
				pass.Reportf(f.Package, "the file has %d lines, more than %d", n, mostFile)
			}
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if n := pass.Fset.Position(fn.End()).Line - pass.Fset.Position(fn.Pos()).Line + 1; n > mostFunction {
					pass.Reportf(fn.Pos(), "%s has %d lines, more than %d", fn.Name.Name, n, mostFunction)
				}
			}
		}
		return nil, nil
	},
}
