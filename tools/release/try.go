package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// program uses each of the modules that are published.
const program = `package main

import (
	"fmt"

	"github.com/kinform/kinform"
	_ "github.com/kinform/kinform/ctrlcache"
	_ "github.com/kinform/kinform/metrics"
	_ "github.com/kinform/kinform/tracing"
)

func main() { fmt.Println("an informer begins", kinform.StateIdle) }
`

// try builds and runs a program that requires the version, in a folder of its own and with
// a module cache of its own: the user's would keep the version as it was at the first try.
func try(ctx context.Context, clone, work, version string) error {
	proxy, user := filepath.Join(work, "proxy"), filepath.Join(work, "user")
	if err := serve(clone, proxy, version); err != nil {
		return err
	}
	if err := os.MkdirAll(user, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(user, "main.go"), []byte(program), 0o644); err != nil {
		return err
	}
	other, err := output(ctx, clone, "go", "env", "GOPROXY", "GOMODCACHE")
	if err != nil {
		return err
	}
	remote, known, _ := strings.Cut(other, "\n")
	settings := []string{
		"GOPROXY=file://" + proxy + ",file://" + known + "/cache/download," + remote,
		"GOMODCACHE=" + filepath.Join(work, "cache"), "GOFLAGS=-mod=mod -modcacherw",
		"GONOSUMDB=" + rootModule + "," + rootModule + "/*", "GOWORK=off",
	}
	get := []string{"get"}
	for _, m := range modules() {
		get = append(get, m.Path+"@"+version)
	}
	for _, args := range [][]string{{"mod", "init", "user"}, get, {"run", "."}} {
		fmt.Println("+ go", strings.Join(args, " "))
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = user, append(os.Environ(), settings...), os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go %s: %w", args[0], err)
		}
	}
	return nil
}

// publishedModule is a module that is published, and its folder.
type publishedModule struct{ Path, Dir string }

func modules() []publishedModule {
	all := []publishedModule{{rootModule, ""}}
	for _, dir := range published {
		all = append(all, publishedModule{rootModule + "/" + dir, dir})
	}
	return all
}

// serve fills a folder with what a module proxy would serve of the version.
func serve(clone, proxy, version string) error {
	for _, m := range modules() {
		escaped, err := module.EscapePath(m.Path)
		if err != nil {
			return err
		}
		at := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		mod, err := os.ReadFile(filepath.Join(clone, m.Dir, "go.mod"))
		if err != nil {
			return err
		}
		for name, text := range map[string]string{
			"list": version + "\n", version + ".mod": string(mod),
			version + ".info": fmt.Sprintf("{%q: %q}\n", "Version", version),
		} {
			if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
		if err := pack(clone, m, filepath.Join(at, version+".zip"), version); err != nil {
			return err
		}
	}
	return nil
}

// pack writes the archive of a module, as of its tag.
func pack(clone string, m publishedModule, file, version string) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	tag := version
	if m.Dir != "" {
		tag = m.Dir + "/" + version
	}
	return zip.CreateFromVCS(f, module.Version{Path: m.Path, Version: version}, clone, tag, m.Dir)
}
