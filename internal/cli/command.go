package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// verb is what a command over resources has of its own.
type verb struct {
	example string   // the command with a resource; "" where none has to be named
	formats []string // what -o may say
	endless bool     // Ctrl-C is its good end
	flags   func(*pflag.FlagSet)
	check   func(*cobra.Command) error // finds what is wrong with its flags before any server is asked
	run     func(ctx context.Context, args []string) error
}

// command gives cmd, which has its texts, the arguments, flags and completions of a
// command over resources, and what it does.
func (s *selection) command(cmd *cobra.Command, v verb) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && v.example != "" {
			return badUsage(cmd, "which resource? For example: "+v.example)
		}
		return checkNames(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := v.check(cmd); err != nil {
			return err
		}
		if err := s.check(cmd); err != nil {
			return err
		}
		err := v.run(cmd.Context(), args)
		if v.endless && errors.Is(err, errInterrupted) {
			return nil
		}
		return err
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	s.flags(fl)
	v.flags(fl)
	s.connection.flags(fl)
	s.complete(cmd, v.formats...)
	return cmd
}

// checkNames refuses what cannot name an object: "pods/", "pods/shop/web-0".
func checkNames(cmd *cobra.Command, args []string) error {
	for _, arg := range args {
		for word := range strings.SplitSeq(arg, ",") {
			plural, name, one := strings.Cut(word, "/")
			namespace, inside, several := strings.Cut(name, "/")
			switch {
			case several && (namespace == "" || inside == ""):
				return badUsage(cmd, fmt.Sprintf("%q names no object: write %s/NAME -n NAMESPACE", word, plural))
			case several:
				return badUsage(cmd, fmt.Sprintf("%q names no object: write %s/%s -n %s, with the namespace apart", word, plural, inside, namespace))
			case one && name == "":
				return badUsage(cmd, fmt.Sprintf("%q names no object: write %s/NAME for one, or %s for all", word, plural, plural))
			}
		}
	}
	return nil
}
