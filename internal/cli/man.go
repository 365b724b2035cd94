package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:generate go run ../../cmd/kinform man ../../docs/man

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIRECTORY",
		Short: "Write the manual pages of kinform",
		Long: `Write a manual page for each command into a directory, made of the same texts as
--help.`,
		Example: `  kinform man ~/.local/share/man/man1
  man kinform-watch`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return badUsage(cmd, "into which directory? For example: kinform man ~/.local/share/man/man1")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return &problem{what: "cannot make the directory " + args[0], why: innermost(err), cause: err}
			}
			for name, page := range manPages(cmd.Root()) {
				path := filepath.Join(args[0], name)
				if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
					return &problem{what: "cannot write " + path, why: innermost(err), cause: err}
				}
			}
			return nil
		},
	}
}

// manPages returns the manual pages by the names of their files.
func manPages(root *cobra.Command) map[string]string {
	pages := map[string]string{pageName(root) + ".1": manPage(root)}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			pages[pageName(cmd)+".1"] = manPage(cmd)
		}
	}
	return pages
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage writes a command's page in roff.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	section := func(title string) { fmt.Fprintf(&b, ".SH %s\n", title) }
	fmt.Fprintf(&b, ".TH %s 1 \"\" kinform \"kinform's manual\"\n", strings.ToUpper(roff(pageName(cmd))))
	section("NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", roff(pageName(cmd)), roff(cmd.Short))
	section("SYNOPSIS")
	fmt.Fprintf(&b, ".B %s\n%s\n", roff(cmd.CommandPath()), roff(synopsis(cmd)))
	section("DESCRIPTION")
	b.WriteString(paragraphs(longOf(cmd)))
	if cmd.HasAvailableSubCommands() {
		section("COMMANDS")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(pageName(sub)), roff(sub.Short))
			}
		}
	}
	flags := ""
	cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) { flags += manFlag(f) })
	if flags != "" {
		section("OPTIONS")
		b.WriteString(flags)
	}
	section("EXAMPLES")
	b.WriteString(verbatim(cmd.Example))
	section("EXIT STATUS")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", e.code, roff(e.means))
	}
	section("ENVIRONMENT")
	b.WriteString(".TP\n.B KUBECONFIG\nkubeconfig files, separated by colons\n" +
		".TP\n.B NO_COLOR\nset to anything: no colours\n.TP\n.B COLUMNS\nthe width of a terminal that does not know its own\n")
	section("SEE ALSO")
	b.WriteString(seeAlso(cmd))
	return b.String()
}

func longOf(cmd *cobra.Command) string {
	if cmd.Long == "" {
		return cmd.Short + "."
	}
	return cmd.Long
}

// synopsis is the command's usage without its name.
func synopsis(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return "COMMAND [flags]"
	}
	_, rest, _ := strings.Cut(cmd.Use, " ")
	return strings.TrimSpace(rest + " [flags]")
}

func manFlag(f *pflag.Flag) string {
	if f.Hidden || f.Name == "help" { // which only the command that runs has
		return ""
	}
	value, usage := pflag.UnquoteUsage(f)
	name := roff("--" + f.Name)
	if f.Shorthand != "" {
		name = roff("-"+f.Shorthand) + ", " + name
	}
	if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "false" && f.DefValue != "[]" {
		usage += fmt.Sprintf(" (default %s)", strings.Trim(f.DefValue, "[]"))
	}
	return strings.TrimRight(fmt.Sprintf(".TP\n\\fB%s\\fR %s", name, roff(value)), " ") + "\n" + roff(usage) + "\n"
}

func seeAlso(cmd *cobra.Command) string {
	var names []string
	if cmd.HasParent() {
		names = append(names, ".BR "+roff(pageName(cmd.Parent()))+" (1)")
	}
	return strings.Join(append(names, ".BR kubectl (1)"), ",\n") + "\n"
}

// paragraphs writes a help text; what is indented stays as it is.
func paragraphs(text string) string {
	var b strings.Builder
	for i, p := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		for line := range strings.SplitSeq(p, "\n") {
			if strings.HasPrefix(line, " ") {
				b.WriteString(".br\n")
			}
			b.WriteString(roff(line) + "\n")
		}
	}
	return b.String()
}

func verbatim(text string) string {
	var b strings.Builder
	b.WriteString(".nf\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(roff(strings.TrimPrefix(line, "  ")) + "\n")
	}
	b.WriteString(".fi\n")
	return b.String()
}

// roff escapes what roff would take for its own.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
