package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/internal/near"
)

// The program's exit codes.
const (
	exitGood        = 0
	exitBad         = 1
	exitUsage       = 2   // the command line makes no sense
	exitInterrupted = 130 // before there was an answer; as shells have it of SIGINT
)

// exitCodes are what each of them means, for people.
var exitCodes = []struct {
	code  int
	means string
}{
	{exitGood, "all went well; Ctrl-C is a good end of what would go on for ever"},
	{exitBad, "something went wrong; it is said what, why, and what to do"},
	{exitUsage, "the command line makes no sense"},
	{exitInterrupted, "Ctrl-C came before there was an answer"},
}

// Main runs the program: args are its arguments, without its name. What was
// asked for goes to out, everything else to notes. It ends when ctx does, which
// is a good end of what would go on for ever. It returns the exit code.
func Main(ctx context.Context, args []string, out, notes io.Writer) int {
	return execute(ctx, args, newScreen(out, notes))
}

func execute(ctx context.Context, args []string, s *screen) int {
	quiet()
	root := newRoot(s)
	root.SetArgs(args)
	root.SetOut(s.out)
	root.SetErr(s.notes)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitGood
	}
	var usage *usageError
	s.note("kinform: " + err.Error())
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	}
	return exitBad
}

// quiet keeps client-go from writing to the terminal what we say better.
var quiet = sync.OnceFunc(func() {
	klog.SetLogger(klog.New(nil))
})

// usageError is a command line that makes no sense.
type usageError struct {
	text string
	help string // the command that explains it
}

func (e *usageError) Error() string { return e.text + "\n  " + e.help + " --help shows how it goes" }

func badUsage(cmd *cobra.Command, text string) error {
	return &usageError{text: text, help: cmd.CommandPath()}
}

func newRoot(s *screen) *cobra.Command {
	root := &cobra.Command{
		Use:   "kinform",
		Short: "Watch a Kubernetes cluster change",
		Long: `kinform keeps a local copy of a cluster's objects and shows what changes, field
by field, as it happens.`,
		Example: `  kinform demo                   a living cluster in this process; nothing is needed
  kinform watch pods             the pods of the current namespace
  kinform watch deploy,po -A     deployments and pods of all namespaces
  kinform get po,svc -l app=web  what is there, by labels, fields and order
  kinform top -A                 what changes most, who changes it, and who fights
  kinform bench pods -A          what client-go and kinform take for them
  kinform serve pods -A          a page that shows informers as they run
  kinform dump pods              how an informer of them is set up, and how it is doing`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := near.Hint(args[0], []string{"watch", "get", "top", "bench", "serve", "dump", "demo", "completion", "man", "version", "help"})
			return badUsage(cmd, fmt.Sprintf("no command %q%s", args[0], hint))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	usage := root.UsageTemplate() + "\nExit codes:\n"
	for _, e := range exitCodes {
		usage += fmt.Sprintf("  %-3d  %s\n", e.code, e.means)
	}
	root.SetUsageTemplate(usage)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return badUsage(cmd, strings.TrimSpace(err.Error()))
	})
	root.AddCommand(newWatch(s), newGet(s), newTop(s), newBench(s), newBenchSide(), newDump(s), newServe(s), newDemo(s), newCompletion(), newMan(), newVersion())
	return root
}
