package apiserver

import (
	"context"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/test/apiserver/servers"
)

func TestConfigs(t *testing.T) {
	s := Shared(t)
	ctx := limited(t)

	version, err := connect(t, s.Config()).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.GitVersion != servers.Kubernetes {
		t.Errorf("the server is %s, want %s", version.GitVersion, servers.Kubernetes)
	}
	if _, err := connect(t, s.Config()).CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{}); err != nil {
		t.Errorf("the administrator reads a namespace: %v", err)
	}

	powerless := connect(t, s.PowerlessConfig())
	if _, err := powerless.CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the powerless user lists pods: %v, want forbidden", err)
	}
	if _, err := powerless.Discovery().ServerVersion(); err != nil {
		t.Errorf("the powerless user asks for the version: %v", err)
	}

	stranger := s.Config()
	stranger.BearerToken = "wrong"
	if _, err := connect(t, stranger).CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a wrong token: %v, want unauthorized", err)
	}

	unverified := s.Config()
	unverified.CAData = nil
	if _, err := connect(t, unverified).CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the server's authority: %v, want a complaint about its certificate", err)
	}
}

// Each way of taking a process down must be felt, and after the start all data
// must be there, at the same address.
func TestProcessesComeBack(t *testing.T) {
	ctx := limited(t)
	down := func(f func(context.Context) error) func() error { return func() error { return f(ctx) } }
	for _, c := range []struct {
		name  string
		down  func(*Server) func() error
		start func(*Server) func() error
	}{
		{"kill kube-apiserver",
			func(s *Server) func() error { return s.KillAPIServer },
			func(s *Server) func() error { return down(s.StartAPIServer) }},
		{"stop kube-apiserver",
			func(s *Server) func() error { return down(s.StopAPIServer) },
			func(s *Server) func() error { return down(s.StartAPIServer) }},
		{"kill etcd",
			func(s *Server) func() error { return s.KillEtcd },
			func(s *Server) func() error { return down(s.StartEtcd) }},
		{"stop etcd",
			func(s *Server) func() error { return down(s.StopEtcd) },
			func(s *Server) func() error { return down(s.StartEtcd) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Shared(t)
			client := connect(t, s.Config())
			name := strings.ReplaceAll(c.name, " ", "-")
			before := createConfigMap(t, client, name)
			if err := c.down(s)(); err != nil {
				t.Fatal(err)
			}
			soon, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if _, err := client.CoreV1().ConfigMaps("default").Create(soon, configMap(name+"-down"), metav1.CreateOptions{}); err == nil {
				t.Error("a write succeeded while the process was down")
			}
			if err := c.start(s)(); err != nil {
				t.Fatal(err)
			}
			after, err := client.CoreV1().ConfigMaps("default").Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if after.UID != before.UID || after.ResourceVersion != before.ResourceVersion {
				t.Errorf("after the start: uid %s version %s, want %s %s", after.UID, after.ResourceVersion, before.UID, before.ResourceVersion)
			}
			createConfigMap(t, client, name+"-after")
		})
	}
}

func TestRestart(t *testing.T) {
	s := Shared(t)
	client := connect(t, s.Config())
	createConfigMap(t, client, "restart")
	apiserver, etcd := s.apiserverProcess.current.pid, s.etcdProcess.current.pid
	if err := s.Restart(limited(t)); err != nil {
		t.Fatal(err)
	}
	if s.apiserverProcess.current.pid == apiserver || s.etcdProcess.current.pid == etcd {
		t.Error("a process was not restarted")
	}
	if _, err := client.CoreV1().ConfigMaps("default").Get(limited(t), "restart", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	s := start(t, Options{}) // looks for a left-over folder at its end
	group, address := s.watchdog.group(), strings.TrimPrefix(s.address, "https://")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !groupGone(group) {
		t.Errorf("a process of group %d is left", group)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Errorf("somebody still listens on %s", address)
	}
	if err := s.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
	if err := s.StartEtcd(limited(t)); err == nil {
		t.Error("a closed server was started")
	}
}

func TestADeathOfItsOwnIsReported(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real kube-apiserver: left out by -short")
	}
	temporary := ownTemporaryFolder(t)
	s, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := s.etcdProcess.current
	if err := syscall.Kill(r.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-r.exited
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "etcd") || !strings.Contains(err.Error(), "ended by itself: signal: killed") {
		t.Errorf("got %v, want the death of etcd", err)
	}
	wantEmpty(t, temporary)
}

func TestAFailedStartShowsTheLogAndLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real kube-apiserver: left out by -short")
	}
	for _, c := range []struct {
		name    string
		options Options
		want    []string
	}{
		{"kube-apiserver ends", Options{APIServerFlags: []string{"--no-such-flag"}}, []string{"kube-apiserver", "ended by itself", "unknown flag: --no-such-flag"}},
		{"etcd ends", Options{EtcdFlags: []string{"--no-such-flag"}}, []string{"etcd", "ended by itself", "flag provided but not defined"}},
		{"not ready in time", Options{StartTimeout: time.Millisecond}, []string{"wait until etcd is ready", "deadline exceeded"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			temporary := ownTemporaryFolder(t)
			s, err := Start(c.options)
			if err == nil {
				s.Close()
				t.Fatal("it started")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
			wantEmpty(t, temporary)
		})
	}
}

func TestMissingProgramsAreNamedWithTheirCommand(t *testing.T) {
	temporary := ownTemporaryFolder(t)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	s, err := Start(Options{})
	if err == nil {
		s.Close()
		t.Fatal("it started")
	}
	if !strings.Contains(err.Error(), servers.BuildCommand) {
		t.Errorf("no %q in: %v", servers.BuildCommand, err)
	}
	wantEmpty(t, temporary)
	if _, _, err := Kubectl(t.Context(), &rest.Config{Host: "127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), servers.BuildCommand) {
		t.Errorf("kubectl: no %q in: %v", servers.BuildCommand, err)
	}
}
