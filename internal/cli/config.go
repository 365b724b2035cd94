package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/homedir"

	"github.com/kinform/kinform/internal/near"
)

// connection says which server to talk to.
type connection struct {
	kubeconfig string
	context    string
}

func (c *connection) flags(f *pflag.FlagSet) {
	f.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig `FILE`; given, it wins over everything else")
	f.StringVar(&c.context, "context", "", "context of the kubeconfig (default: its current one)")
}

// server is where a connection leads.
type server struct {
	config    *rest.Config
	namespace string // the one to look at where none is asked for
	from      string // where the configuration came from
}

// load finds the configuration: what a pod finds in a cluster comes first, then
// KUBECONFIG and the home directory; a kubeconfig or a context that was asked
// for wins over all.
func (c *connection) load() (*server, error) {
	if c.kubeconfig == "" && c.context == "" {
		cfg, err := rest.InClusterConfig()
		if err == nil {
			return &server{config: cfg, namespace: podNamespace(), from: "the pod's service account"}, nil
		}
		if !errors.Is(err, rest.ErrNotInCluster) {
			return nil, &problem{
				what: "this looks like a pod, but its service account cannot be used",
				why:  err.Error(),
				do:   "give --kubeconfig FILE to use another configuration",
			}
		}
	}
	return c.fromFiles()
}

// podNamespace is the namespace that a pod runs in.
func podNamespace() string {
	raw, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if ns := strings.TrimSpace(string(raw)); err == nil && ns != "" {
		return ns
	}
	return "default"
}

func (c *connection) fromFiles() (*server, error) {
	rules := c.rules()
	raw, err := rules.Load()
	if err != nil {
		return nil, c.unreadable(err)
	}
	if clientcmdapi.IsConfigEmpty(raw) {
		return nil, c.nothing(rules)
	}
	if err := c.checkContext(raw, files(rules)); err != nil {
		return nil, err
	}
	loader := clientcmd.NewNonInteractiveClientConfig(*raw, c.context, &clientcmd.ConfigOverrides{}, rules)
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, c.unusable(err, files(rules))
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, c.unusable(err, files(rules))
	}
	return &server{config: cfg, namespace: namespace, from: files(rules)}, nil
}

// rules say which files are read.
func (c *connection) rules() *clientcmd.ClientConfigLoadingRules {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: c.kubeconfig, Precedence: []string{homeFile()}}
	if paths := filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar)); len(paths) > 0 {
		rules.Precedence = paths
	}
	return rules
}

func homeFile() string {
	return filepath.Join(homedir.HomeDir(), clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)
}

// files names the kubeconfig files that were read.
func files(rules *clientcmd.ClientConfigLoadingRules) string {
	if rules.ExplicitPath != "" {
		return rules.ExplicitPath
	}
	var there []string
	for _, f := range rules.Precedence {
		if _, err := os.Stat(f); err == nil {
			there = append(there, f)
		}
	}
	return strings.Join(there, ", ")
}

func (c *connection) unreadable(err error) error {
	p := &problem{what: "cannot read the kubeconfig", why: innermost(err), cause: err}
	var missing *os.PathError
	switch {
	case errors.As(err, &missing):
		p.what, p.why = "cannot read the kubeconfig "+missing.Path, missing.Err.Error()
		p.do = "check the path given with --kubeconfig"
	case c.kubeconfig != "":
		p.what = "the kubeconfig " + c.kubeconfig + " cannot be understood"
		p.why = strings.TrimPrefix(p.why, fmt.Sprintf("error loading config file %q: ", c.kubeconfig))
		p.do = "check the file: kubectl config view --kubeconfig " + c.kubeconfig
	default:
		p.what = "the kubeconfig cannot be understood"
		p.do = "check it: kubectl config view"
	}
	return p
}

// nothing says that there is no configuration at all, and where was looked.
func (c *connection) nothing(rules *clientcmd.ClientConfigLoadingRules) error {
	if c.kubeconfig != "" {
		return &problem{
			what: "the kubeconfig " + c.kubeconfig + " is empty",
			why:  "it names no cluster, user or context",
			do:   "give --kubeconfig another FILE",
		}
	}
	why := "this is no pod, KUBECONFIG is not set, and " + homeFile() + " does not exist"
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" {
		why = "this is no pod, and KUBECONFIG leads to nothing: " + strings.Join(rules.Precedence, ", ")
	}
	return &problem{
		what: "no cluster to talk to",
		why:  why,
		do:   "give --kubeconfig FILE, or try kinform without a cluster: kinform demo",
	}
}

// checkContext finds out early, and with a better answer, that a context, or its
// cluster, does not exist.
func (c *connection) checkContext(raw *clientcmdapi.Config, where string) error {
	name := c.context
	if name == "" {
		name = raw.CurrentContext
	}
	known := slices.Collect(maps.Keys(raw.Contexts))
	if context, ok := raw.Contexts[name]; ok {
		if _, ok := raw.Clusters[context.Cluster]; !ok {
			return &problem{
				what: fmt.Sprintf("the context %q in %s cannot be used", name, where),
				why:  fmt.Sprintf("it names the cluster %q, which does not exist", context.Cluster),
				do:   "choose another one with --context: it has " + quoted(known),
			}
		}
		return nil
	}
	p := &problem{what: fmt.Sprintf("no context %q in %s", name, where)}
	if name == "" {
		p.what = "no context is chosen in " + where
	}
	p.why = "it has " + quoted(known)
	p.do = "choose one with --context"
	if len(known) == 0 {
		p.why, p.do = "it has no contexts", "give --kubeconfig another FILE"
	} else if similar := near.Words(name, known); c.context != "" && len(similar) > 0 {
		p.do = "did you mean --context " + similar[0] + "?"
	}
	return p
}

func (c *connection) unusable(err error, where string) error {
	return &problem{
		what:  "the kubeconfig " + where + " cannot be used",
		why:   innermost(err),
		do:    "check the file: kubectl config view",
		cause: err,
	}
}
