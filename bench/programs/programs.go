// Package programs builds programs of Kubernetes twice, from the same source and
// the same dependencies: as they are, and with their informer factories swapped for
// kinform's.
//
// It holds the build, and nothing that runs what was built. Nothing of Kubernetes'
// source is kept here: the few files that are changed are made of those of the
// module, by replacing import paths. The versions are pinned by the module in
// kubernetes/, which is a go.mod, a go.sum and a file that names what it needs.
//
// Built programs are kept in the folder of the test servers (package servers), in
// one folder for each set of versions; those with kinform in one for each state of
// its source. So a program is built once, until something changes.
package programs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/kinform/kinform/test/apiserver/servers"
)

// A Program is one of Kubernetes'.
type Program struct {
	// Name is that of the built file, which Kubernetes' clients send as user agent.
	Name string
	// Package is the import path of the main package.
	Package string
	// Swaps are the imports that kinform's take the place of, by the file that
	// has them, relative to the module of Kubernetes.
	Swaps map[string][]Swap
}

// A Swap replaces one import path by another.
type Swap struct{ From, To string }

const (
	kubernetesModule = "k8s.io/kubernetes"
	kinformModule    = "github.com/kinform/kinform"
	// olderTag is the build tag of kinform's drop-ins for the client-go that this
	// Kubernetes is made with.
	olderTag = "clientgo036"
)

// ControllerManager makes all its informers with two factories.
var ControllerManager = Program{
	Name:    "kube-controller-manager",
	Package: kubernetesModule + "/cmd/kube-controller-manager",
	Swaps: map[string][]Swap{"cmd/kube-controller-manager/app/controllermanager.go": {
		{From: "k8s.io/client-go/informers", To: kinformModule + "/informers"},
		{From: "k8s.io/client-go/metadata/metadatainformer", To: kinformModule + "/metadatainformer"},
	}},
}

// Scheduler makes its informers in two places. It holds on to the pods that its
// handlers are given.
var Scheduler = Program{
	Name:    "kube-scheduler",
	Package: kubernetesModule + "/cmd/kube-scheduler",
	Swaps: map[string][]Swap{
		"pkg/scheduler/scheduler.go": {
			{From: "k8s.io/client-go/informers", To: kinformModule + "/informers"},
			{From: "k8s.io/client-go/informers/core/v1", To: kinformModule + "/informers/core/v1"},
		},
		"cmd/kube-scheduler/app/options/options.go": {
			{From: "k8s.io/client-go/dynamic/dynamicinformer", To: kinformModule + "/dynamicinformer"},
		},
	},
}

// Builder builds programs.
type Builder struct {
	// Module is the folder of the pinning module.
	Module string
	// Kinform is the folder of kinform's source, the root of its module.
	Kinform string
	// Progress is told what happens, a line each. A build takes minutes.
	Progress io.Writer
}

// Stock returns the path of the program as it is, after building it if need be.
func (b Builder) Stock(ctx context.Context, p Program) (string, error) {
	return b.get(ctx, p, "stock", false)
}

// Swapped returns the path of the program with kinform's informers, after building
// it if need be.
func (b Builder) Swapped(ctx context.Context, p Program) (string, error) {
	hash, err := hashTree(b.Kinform)
	if err != nil {
		return "", fmt.Errorf("read kinform's source: %w", err)
	}
	return b.get(ctx, p, swappedPrefix+hash, true)
}

// swappedPrefix begins the names of the folders of what was built with kinform.
const swappedPrefix = "kinform-"

func (b Builder) get(ctx context.Context, p Program, folder string, swap bool) (string, error) {
	home, err := b.home()
	if err != nil {
		return "", err
	}
	// Two builds at once would only slow each other down.
	unlock, err := lock(filepath.Join(home, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	target := filepath.Join(home, folder, p.Name)
	if _, err := os.Stat(target); err == nil {
		fmt.Fprintf(b.Progress, "%s, %s, is there: %s\n", p.Name, folder, target)
		return target, os.Chtimes(filepath.Dir(target), time.Now(), time.Now())
	}
	began := time.Now()
	fmt.Fprintf(b.Progress, "%s, %s, building ...\n", p.Name, folder)
	if err := b.build(ctx, p, home, target, swap); err != nil {
		return "", fmt.Errorf("build %s, %s: %w", p.Name, folder, err)
	}
	fmt.Fprintf(b.Progress, "%s, %s, built in %s: %s\n", p.Name, folder, time.Since(began).Round(time.Second), target)
	return target, removeOld(home, 4)
}

// home is the folder of all that is built with the versions of the pinning module.
func (b Builder) home() (string, error) {
	dir, err := servers.Dir()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(b.Module, name))
		if err != nil {
			return "", fmt.Errorf("find the module that pins Kubernetes: %w", err)
		}
		h.Write(text)
	}
	home := filepath.Join(dir, "programs-"+hex.EncodeToString(h.Sum(nil)[:6]))
	return home, os.MkdirAll(home, 0o755)
}

// build builds into a scratch folder and moves the program to its place, so that it
// is there whole or not at all.
func (b Builder) build(ctx context.Context, p Program, home, target string, swap bool) error {
	scratch, err := os.MkdirTemp(home, ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	source, err := b.linkSource(ctx, home)
	if err != nil {
		return err
	}
	modfile, err := b.modfile(ctx, scratch, source)
	if err != nil {
		return err
	}
	built := filepath.Join(scratch, p.Name)
	// The module file is a copy, so that the go command may note in it who needs what
	// now that Kubernetes needs kinform; the versions are pinned.
	args := []string{"build", "-mod=mod", "-modfile=" + modfile, "-trimpath", "-buildvcs=false", "-ldflags", ldflags(), "-o", built}
	if swap {
		overlay, err := p.overlay(source, scratch)
		if err != nil {
			return err
		}
		args = append(args, "-tags", olderTag, "-overlay", overlay)
	}
	stop := tell(b.Progress, "still building", 20*time.Second)
	_, err = b.goCommand(ctx, append(args, p.Package)...)
	stop()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.Rename(built, target)
}

// linkSource returns a link to the source of Kubernetes in the module cache: the go
// command lays nothing over files that it knows to be there.
func (b Builder) linkSource(ctx context.Context, home string) (string, error) {
	out, err := b.goCommand(ctx, "mod", "download", "-json", kubernetesModule)
	if err != nil {
		return "", err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("go mod download: %w", err)
	}
	link := filepath.Join(home, "source")
	if at, err := os.Readlink(link); err == nil && at == module.Dir {
		return link, nil
	}
	_ = os.Remove(link) // if it points elsewhere; if it stays, Symlink says so
	return link, os.Symlink(module.Dir, link)
}

// modfile writes the pinning module with the places of the two sources.
func (b Builder) modfile(ctx context.Context, scratch, source string) (string, error) {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(b.Module, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(scratch, name), text, 0o644); err != nil {
			return "", err
		}
	}
	kinform, err := filepath.Abs(b.Kinform)
	if err != nil {
		return "", err
	}
	file := filepath.Join(scratch, "go.mod")
	_, err = b.goCommand(ctx, "mod", "edit", "-replace="+kubernetesModule+"="+source, "-replace="+kinformModule+"="+kinform, file)
	return file, err
}

// ldflags leaves out debugging tables, and sets the version that the program tells
// of itself.
func ldflags() string {
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags, fmt.Sprintf("-X %s.gitVersion=%s", pkg, servers.Kubernetes))
	}
	return strings.Join(flags, " ")
}

// goCommand runs the go command in the pinning module, so that others get the
// machine first, and returns what it printed.
func (b Builder) goCommand(ctx context.Context, args ...string) ([]byte, error) {
	name, all := "go", args
	if nice, err := exec.LookPath("nice"); err == nil {
		name, all = nice, append([]string{"-n", "19", "go"}, args...)
	}
	cmd := exec.CommandContext(ctx, name, all...)
	cmd.Dir = b.Module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(problems.Bytes()))
	}
	return out.Bytes(), nil
}

// tell says something at intervals until it is stopped.
func tell(w io.Writer, text string, every time.Duration) (stop func()) {
	began, ticker, done, told := time.Now(), time.NewTicker(every), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(told)
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(w, "%s, for %s\n", text, time.Since(began).Round(time.Second))
			case <-done:
				return
			}
		}
	}()
	return func() { ticker.Stop(); close(done); <-told }
}
