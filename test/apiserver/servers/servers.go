// Package servers says which server programs the tests run, from which
// versions they are built, and where the built programs are kept.
//
// It holds versions, paths and the build, and nothing that runs or talks to a
// server. It uses the standard library alone, so that the program that builds
// the servers needs no module but this one.
//
// The sources are pinned by two modules beside this file: etcd/ and
// kubernetes/. Each is a go.mod and a go.sum and nothing else.
package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// The versions that are built. The go.mod files in etcd/ and kubernetes/ must
// ask for the same ones; Build refuses to work when they do not.
//
// Etcd is the release that this version of Kubernetes is tested with
// (build/dependencies.yaml in k8s.io/kubernetes).
const (
	Kubernetes = "v1.36.3"
	Etcd       = "v3.6.8"
)

// BuildCommand is what a person types at the root of the repository to get the
// programs.
const BuildCommand = "go -C test/apiserver run ./cmd/build"

// A Program is one of the programs that the tests run.
type Program struct {
	// Name is the name of the built file.
	Name string
	// Module is the folder of the pinning module, relative to this package.
	Module string
	// Package is the import path of the main package.
	Package string
	// PinnedModule and Version are the requirement the pinning module must have.
	PinnedModule, Version string
	// versionPackages have their version variables set by the linker.
	versionPackages []string
}

var kubernetesVersionPackages = []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"}

// Programs lists all programs, the quickest to build first.
var Programs = []Program{
	{
		Name: "etcd", Module: "etcd",
		Package:      "go.etcd.io/etcd/server/v3",
		PinnedModule: "go.etcd.io/etcd/server/v3", Version: Etcd,
	},
	{
		Name: "kube-apiserver", Module: "kubernetes",
		Package:      "k8s.io/kubernetes/cmd/kube-apiserver",
		PinnedModule: "k8s.io/kubernetes", Version: Kubernetes,
		versionPackages: kubernetesVersionPackages,
	},
	{
		Name: "kubectl", Module: "kubernetes",
		Package:      "k8s.io/kubernetes/cmd/kubectl",
		PinnedModule: "k8s.io/kubernetes", Version: Kubernetes,
		versionPackages: kubernetesVersionPackages,
	},
}

// Dir is the folder of the built programs: one per set of versions and
// platform, in the user's cache folder.
func Dir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder for the test servers: %w (set HOME or XDG_CACHE_HOME)", err)
	}
	key := fmt.Sprintf("kubernetes-%s_etcd-%s_%s-%s", Kubernetes, Etcd, runtime.GOOS, runtime.GOARCH)
	return filepath.Join(cache, "kinform", "servers", key), nil
}

// Path is the file of a built program. When it has not been built, the error
// says how to do that.
func Path(name string) (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s is not built (%w)\nbuild it once, from the root of the repository (takes minutes): %s", name, err, BuildCommand)
	}
	return path, nil
}
