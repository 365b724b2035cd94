package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/internal/near"
)

// shells are what there is completion for.
var shells = []string{"bash", "zsh", "fish"}

func newCompletion() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "completion SHELL",
		Short: "Write what a shell needs to complete kinform's commands",
		Long: `Write a script for bash, zsh or fish that completes commands, flags, resources,
namespaces and contexts. Resources and namespaces are those of the cluster, if it
answers within a second.`,
		Example: `  source <(kinform completion bash)
  kinform completion zsh > "${fpath[1]}/_kinform"
  kinform completion fish > ~/.config/fish/completions/kinform.fish`,
		ValidArgs: shells,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return badUsage(cmd, "which shell? Use "+near.Or(shells))
			}
			return nil
		},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		root := cmd.Root()
		write := map[string]func(io.Writer) error{
			"bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
			"zsh":  root.GenZshCompletion,
			"fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		}[args[0]]
		if err := write(cmd.OutOrStdout()); err != nil {
			return unwritten(err)
		}
		return nil
	}
	return cmd
}

// completionTime is how long a person waits for a completion.
const completionTime = time.Second

// completions are what may stand in a place of the command line.
type completions = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// complete has the command's resources, namespaces, contexts and formats completed.
func (s *selection) complete(cmd *cobra.Command, formats ...string) {
	cmd.ValidArgsFunction = s.completeResources
	flags := map[string]completions{
		"namespace": func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			other := func(name string) bool { return !strings.HasPrefix(name, begun) }
			return slices.DeleteFunc(inTime(cmd.Context(), s.namespaces), other), cobra.ShellCompDirectiveNoFileComp
		},
		"context": func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return s.contexts(), cobra.ShellCompDirectiveNoFileComp
		},
		"output": func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return formats, cobra.ShellCompDirectiveNoFileComp
		},
	}
	for _, name := range []string{"selector", "field-selector", "for", "timeout", "where", "by", "sort-by", "columns", "limit", "continue", "rows"} {
		flags[name] = cobra.NoFileCompletions
	}
	for name, f := range flags {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, f) // it fails only for a flag that has one
		}
	}
}

// completeResources completes the last one of "pods,services".
func (s *selection) completeResources(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	known := inTime(cmd.Context(), s.resources)
	if len(known) == 0 {
		for _, r := range usually {
			plural, _, _ := strings.Cut(r, ".")
			known = append(known, plural)
		}
	}
	before := begun[:strings.LastIndex(begun, ",")+1]
	var words []string
	for _, k := range known {
		if strings.HasPrefix(k, begun[len(before):]) {
			words = append(words, before+k)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// inTime returns what a question to the cluster gives, or nothing if that takes too
// long. What does not heed the context, such as a plug-in for credentials, is left
// behind: the process ends soon.
func inTime(ctx context.Context, ask func(context.Context) []string) []string {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	answer := make(chan []string, 1)
	go func() { answer <- ask(ctx) }()
	select {
	case words := <-answer:
		return words
	case <-ctx.Done():
		return nil
	}
}

// resources are the words for what the server has.
func (s *selection) resources(ctx context.Context) []string {
	srv, err := s.hurried()
	if err != nil {
		return nil
	}
	c, err := newCatalogue(ctx, srv)
	if err != nil {
		return nil
	}
	var words []string
	for _, r := range c.all() {
		word := r.Resource
		if plain, err := c.lookUp(word); err != nil || plain != r.GroupVersionResource {
			word = r.GroupResource().String() // another group has the same plural
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

// namespaces are those of the cluster.
func (s *selection) namespaces(ctx context.Context) []string {
	srv, err := s.hurried()
	if err != nil {
		return nil
	}
	client, err := kubernetes.NewForConfig(srv.config)
	if err != nil {
		return nil
	}
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{Limit: 500})
	if err != nil {
		return nil
	}
	var names []string
	for _, ns := range list.Items {
		names = append(names, fmt.Sprintf("%s\t%s", ns.Name, ns.Status.Phase))
	}
	return names
}

// hurried is the server, asked for answers in the time of a completion.
func (c *connection) hurried() (*server, error) {
	quiet()
	srv, err := c.load()
	if err != nil {
		return nil, err
	}
	srv.config = rest.CopyConfig(srv.config)
	srv.config.Timeout = completionTime
	return srv, nil
}

// contexts are those of the kubeconfig.
func (c *connection) contexts() []string {
	raw, err := c.rules().Load()
	if err != nil {
		return nil
	}
	var names []string
	for name := range raw.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
