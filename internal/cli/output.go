package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kinform/kinform/internal/near"
)

// outputFlags say how changes are shown.
type outputFlags struct {
	format  string
	initial bool
	full    bool
}

var formats = []string{"line", "json", "diff"}

func (f *outputFlags) flags(fl *pflag.FlagSet) {
	fl.StringVarP(&f.format, "output", "o", "line", "how changes are shown: line, json or diff")
	fl.BoolVar(&f.initial, "initial", false, "show each object that is there at the start, too")
	fl.BoolVar(&f.full, "full", false, "with -o json: the whole object in each line")
}

func (f *outputFlags) printer(cmd *cobra.Command, s *screen) (printer, error) {
	if f.full && f.format != "json" {
		return nil, badUsage(cmd, "--full is for -o json")
	}
	switch f.format {
	case "line":
		return &linePrinter{palette: s.colours, width: s.width}, nil
	case "json":
		return jsonPrinter{full: f.full}, nil
	case "diff":
		return unifiedPrinter{s.colours}, nil
	}
	return nil, badUsage(cmd, fmt.Sprintf("-o %s is not known: use %s", f.format, near.Or(formats)))
}

// keyColumn is the width of the column of keys. Longer keys move the rest of
// their line.
const keyColumn = 24

// align makes columns as wide as the targets' names need them.
func (f *outputFlags) align(p printer, targets []*target) {
	if lp, ok := p.(*linePrinter); ok {
		for _, t := range targets {
			lp.resource = max(lp.resource, len(t.name))
		}
		lp.key, lp.only = keyColumn, len(targets) == 1
	}
}
