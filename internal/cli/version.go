package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show which kinform this is",
		Example: "  kinform version",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionText())
			return err
		},
	}
}

// noArguments refuses arguments of a command that has none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return badUsage(cmd, fmt.Sprintf("%s takes no arguments, but got %q", cmd.CommandPath(), args[0]))
	}
	return nil
}

// versionText names the program's version, commit and client-go, as far as the
// build recorded them.
func versionText() string {
	version, commit, clientGo := "(unknown)", "", "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = ", commit " + s.Value
			}
		}
		for _, d := range info.Deps {
			if d.Path == "k8s.io/client-go" {
				clientGo = d.Version
			}
		}
	}
	return fmt.Sprintf("kinform %s%s (client-go %s, %s, %s/%s)", version, commit, clientGo, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
