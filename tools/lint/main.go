// Command lint checks the code of this repository. It is a tool for go vet, which
// remembers what it has checked:
//
//	go -C tools/lint build -o /tmp/lint .
//	go vet -vettool=/tmp/lint ./...
//
// What it checks: staticcheck's rules, errors that nobody looks at or that are wrapped
// without %w, bodies of responses that stay open, and the size of files and functions.
// Tests may ignore errors and be long, and so may code that was generated.
package main

import (
	"slices"
	"strings"

	"github.com/kisielk/errcheck/errcheck"
	"github.com/polyfloyd/go-errorlint/errorlint"
	"github.com/timakin/bodyclose/passes/bodyclose"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
)

// style are the rules of stylecheck that are kept.
var style = []string{"ST1001", "ST1006", "ST1012", "ST1013", "ST1015", "ST1017", "ST1019", "ST1020", "ST1021", "ST1022"}

func main() {
	all := []*analysis.Analyzer{
		except(errcheck.Analyzer, inTest, closing, printing, waiting),
		except(wrapping(), inTest),
		except(bodyclose.Analyzer, inTest, inSuite),
		size,
	}
	rules := slices.Concat(staticcheck.Analyzers, simple.Analyzers)
	for _, a := range stylecheck.Analyzers {
		if slices.Contains(style, a.Analyzer.Name) {
			rules = append(rules, a)
		}
	}
	for _, a := range rules {
		if !optional(a) {
			all = append(all, a.Analyzer)
		}
	}
	unitchecker.Main(all...)
}

// optional reports whether a rule of staticcheck is off: it is unless it is asked for,
// or it names what is deprecated, which a client of servers old and new has to use.
func optional(a *lint.Analyzer) bool {
	return a.Analyzer.Name == "SA1019" ||
		a.Doc != nil && a.Doc.NonDefault && !slices.Contains(style, a.Analyzer.Name)
}

// wrapping looks for errors that are put into others without %w. Streams end with io.EOF
// itself, as package io has it, so comparing is right.
func wrapping() *analysis.Analyzer {
	a := errorlint.NewAnalyzer()
	for _, check := range []string{"comparison", "asserts"} {
		if err := a.Flags.Set(check, "false"); err != nil {
			panic(err)
		}
	}
	return a
}

// except makes an analyzer silent at some places.
func except(a *analysis.Analyzer, skip ...func(file, line string) bool) *analysis.Analyzer {
	b, run := *a, a.Run
	b.Run = func(pass *analysis.Pass) (any, error) {
		p, report := *pass, pass.Report
		p.Report = func(d analysis.Diagnostic) {
			at := pass.Fset.Position(d.Pos)
			line := lineOf(pass, at.Filename, at.Line)
			if !slices.ContainsFunc(skip, func(f func(string, string) bool) bool { return f(at.Filename, line) }) {
				report(d)
			}
		}
		return run(&p)
	}
	return &b
}

func inTest(file, _ string) bool { return strings.HasSuffix(file, "_test.go") }

// inSuite: the suites that run on several servers have their own way of closing.
func inSuite(file, _ string) bool {
	return strings.Contains(file, "/conformance/") || strings.Contains(file, "/internal/contract/")
}

// printing: there is nobody to say it to.
func printing(_, line string) bool { return strings.Contains(line, "fmt.Fprint") }

// waiting: what ended said so elsewhere.
func waiting(_, line string) bool { return strings.Contains(line, "<-") }

// closing: a reader that is closed has nothing more to say.
func closing(_, line string) bool { return strings.Contains(line, ".Close()") }

func lineOf(pass *analysis.Pass, file string, n int) string {
	text, err := pass.ReadFile(file)
	if err != nil {
		return ""
	}
	lines := strings.Split(string(text), "\n")
	return lines[min(n, len(lines))-1]
}
