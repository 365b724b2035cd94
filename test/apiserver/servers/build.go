package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Build builds the programs that are missing from Dir and tells progress about
// it, a line each. The modules that pin the sources are looked for in source,
// the folder of this package. A program appears in Dir whole or not at all, so
// that an interrupted build, or two at once, do no harm.
func Build(ctx context.Context, source string, progress io.Writer) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the test servers: %w", err)
	}
	for _, p := range Programs {
		target := filepath.Join(dir, p.Name)
		if info, err := os.Stat(target); err == nil {
			fmt.Fprintf(progress, "%-14s %s is there: %s (%s)\n", p.Name, p.Version, target, megabytes(info))
			continue
		}
		fmt.Fprintf(progress, "%-14s %s building ...\n", p.Name, p.Version)
		began := time.Now()
		if err := p.build(ctx, source, target, progress); err != nil {
			return fmt.Errorf("build %s %s: %w", p.Name, p.Version, err)
		}
		info, err := os.Stat(target)
		if err != nil {
			return fmt.Errorf("look at the built %s: %w", p.Name, err)
		}
		fmt.Fprintf(progress, "%-14s %s built in %s: %s (%s)\n", p.Name, p.Version, time.Since(began).Round(time.Second), target, megabytes(info))
	}
	return nil
}

func (p Program) build(ctx context.Context, source, target string, progress io.Writer) error {
	module := filepath.Join(source, p.Module)
	if err := p.checkPin(ctx, module); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(target), ".building-")
	if err != nil {
		return fmt.Errorf("make a scratch folder: %w", err)
	}
	defer os.RemoveAll(scratch)
	built := filepath.Join(scratch, p.Name)
	cmd := goCommand(ctx, module, "build", "-mod=readonly", "-trimpath", "-buildvcs=false",
		"-ldflags", p.ldflags(), "-o", built, p.Package)
	cmd.Stdout, cmd.Stderr = progress, progress
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return os.Rename(built, target)
}

// checkPin makes sure that the version named in this package is the one that
// the module builds, because the former names the folder of the latter.
func (p Program) checkPin(ctx context.Context, module string) error {
	if _, err := os.Stat(filepath.Join(module, "go.mod")); err != nil {
		return fmt.Errorf("find the module that pins it: %w (run this from test/apiserver: %s)", err, BuildCommand)
	}
	out, err := goCommand(ctx, module, "mod", "edit", "-json").Output()
	if err != nil {
		return fmt.Errorf("read %s/go.mod: %w", module, err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return fmt.Errorf("understand %s/go.mod: %w", module, err)
	}
	for _, r := range mod.Require {
		if r.Path != p.PinnedModule {
			continue
		}
		if r.Version != p.Version {
			return fmt.Errorf("%s/go.mod asks for %s %s, package servers for %s: make them agree", module, r.Path, r.Version, p.Version)
		}
		return nil
	}
	return fmt.Errorf("%s/go.mod does not ask for %s, which %s is built from", module, p.PinnedModule, p.Name)
}

// ldflags drops debugging tables, and sets the version that a Kubernetes
// program tells of itself, which its own build scripts would set.
func (p Program) ldflags() string {
	flags := []string{"-s", "-w"}
	numbers := strings.SplitN(strings.TrimPrefix(p.Version, "v"), ".", 3)
	for _, pkg := range p.versionPackages {
		for _, v := range [][2]string{
			{"gitVersion", p.Version}, {"gitMajor", numbers[0]}, {"gitMinor", numbers[1]}, {"gitTreeState", "clean"},
		} {
			flags = append(flags, fmt.Sprintf("-X %s.%s=%s", pkg, v[0], v[1]))
		}
	}
	return strings.Join(flags, " ")
}

func goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	// On an interrupt the go command gets the chance to remove its work folder.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func megabytes(info os.FileInfo) string {
	return fmt.Sprintf("%d MB", info.Size()/1_000_000)
}
