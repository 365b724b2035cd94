package apiserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/test/apiserver/servers"
)

// Options say how to run a Server. The zero value works.
type Options struct {
	// APIServerFlags are added to the command line of kube-apiserver, after the
	// package's own, so that they win. Example: "--watch-cache-sizes=secrets#0".
	APIServerFlags []string
	// EtcdFlags are added to the command line of etcd in the same way.
	EtcdFlags []string
	// StartTimeout is how long one start of one process may take until it is
	// ready. Default: one minute.
	StartTimeout time.Duration
}

// A Server is one etcd and one kube-apiserver, and all they own. Its methods
// may be called from several goroutines; those that stop and start processes
// wait for each other.
type Server struct {
	options     Options
	dir         string
	credentials *credentials
	address     string // https://host:port of kube-apiserver
	etcd        *etcdClient
	probe       *probe
	watchdog    *watchdog

	mu               sync.Mutex // guards the two processes, and closed
	etcdProcess      *process
	apiserverProcess *process
	closed           bool
}

// Start runs etcd and kube-apiserver and returns when both are ready and the
// namespace "default" exists. Close must be called on the Server.
//
// When the programs have not been built, the error says how to build them.
func Start(options Options) (*Server, error) {
	if options.StartTimeout == 0 {
		options.StartTimeout = time.Minute
	}
	// A port that was free a moment ago may have been taken since.
	const attempts = 3
	var err error
	for range attempts {
		var s *Server
		if s, err = startOnce(options); err == nil {
			return s, nil
		}
		if !strings.Contains(err.Error(), "address already in use") {
			break
		}
	}
	return nil, err
}

func startOnce(options Options) (*Server, error) {
	s, err := prepare(options)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	err = s.StartEtcd(ctx)
	if err == nil {
		err = s.StartAPIServer(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepare does everything up to, but not including, the start of the servers.
func prepare(options Options) (*Server, error) {
	etcdPath, err := servers.Path("etcd")
	if err != nil {
		return nil, err
	}
	apiserverPath, err := servers.Path("kube-apiserver")
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "kinform-apiserver-")
	if err != nil {
		return nil, fmt.Errorf("make the data folder of the test servers: %w", err)
	}
	credentials, err := makeCredentials(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	dog, err := startWatchdog(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	etcdPort, port := ports[0], ports[1]
	return &Server{
		options:     options,
		dir:         dir,
		credentials: credentials,
		address:     fmt.Sprintf("https://127.0.0.1:%d", port),
		etcd:        newEtcdClient(fmt.Sprintf("http://127.0.0.1:%d", etcdPort)),
		probe:       newProbe(credentials),
		watchdog:    dog,
		etcdProcess: &process{
			name: "etcd", path: etcdPath, group: dog.group(),
			args:    slices.Concat(etcdFlags(dir, etcdPort), options.EtcdFlags),
			logFile: filepath.Join(dir, "etcd.log"),
		},
		apiserverProcess: &process{
			name: "kube-apiserver", path: apiserverPath, group: dog.group(),
			args:    slices.Concat(apiserverFlags(dir, port, etcdPort, credentials), options.APIServerFlags),
			logFile: filepath.Join(dir, "kube-apiserver.log"),
		},
	}, nil
}

// Close kills both processes and removes the data folder. It returns when
// nothing of the Server is left. A process that had ended without being told to
// is reported, with the end of its log. Further calls do nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.etcd.closeIdle()
	return errors.Join(
		s.apiserverProcess.kill(),
		s.etcdProcess.kill(),
		os.RemoveAll(s.dir),
		s.watchdog.release(),
	)
}

// Config is an administrator's configuration (group system:masters), without a
// client-side rate limit. Each call makes a new one, free to be changed.
func (s *Server) Config() *rest.Config { return s.config(s.credentials.adminToken) }

// PowerlessConfig is the configuration of a user who has logged in and may read
// discovery and his own rights, and nothing else.
func (s *Server) PowerlessConfig() *rest.Config { return s.config(s.credentials.powerlessToken) }

func (s *Server) config(token string) *rest.Config {
	return &rest.Config{
		Host:            s.address,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAData: slices.Clone(s.credentials.caPEM)},
		QPS:             -1,
	}
}

// Dir is the data folder: etcd.log and kube-apiserver.log are in it.
func (s *Server) Dir() string { return s.dir }
