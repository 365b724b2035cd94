package apiserver

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the one Server of a test binary.
var shared struct {
	mu     sync.Mutex
	inMain bool // Main is running, and will close the server
	server *Server
	err    error
}

// Main runs the tests of a package and then closes the Server that [Shared] has
// started, if any test asked for it. It returns the code to exit with, which
// tells of a server that died on its own, or left something behind.
//
//	func TestMain(m *testing.M) { os.Exit(apiserver.Main(m)) }
func Main(m interface{ Run() int }) int {
	shared.mu.Lock()
	shared.inMain = true
	shared.mu.Unlock()
	code := m.Run()
	if err := closeShared(); err != nil {
		fmt.Fprintln(os.Stderr, "close the test server:", err)
		code = max(code, 1)
	}
	return code
}

// Shared gives the one Server of the test binary, and starts it for the first
// test that asks. TestMain must call [Main]. A test that stops a process has to
// start it again, and to stay out of t.Parallel.
//
// With -short the test is skipped. When the programs are not built, it fails
// with the command that builds them.
func Shared(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real kube-apiserver: left out by -short")
	}
	server, err := sharedServer()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func sharedServer() (*Server, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.inMain {
		return nil, fmt.Errorf("no one will close the shared test server: let TestMain call apiserver.Main")
	}
	// A start that failed would fail again, after the same long wait.
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = Start(Options{})
	}
	return shared.server, shared.err
}

func closeShared() error {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.inMain = false
	if shared.server == nil {
		return nil
	}
	server := shared.server
	shared.server = nil
	return server.Close()
}
