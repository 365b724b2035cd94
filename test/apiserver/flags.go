package apiserver

import (
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
)

// etcdFlags is the command line of etcd. Nothing is synced to the disk: what a
// killed process has written the system still has, and only a crash of the
// machine would lose it.
func etcdFlags(dir string, port int) []string {
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	return []string{
		"--name=kinform-test",
		"--data-dir=" + filepath.Join(dir, "etcd"),
		"--listen-client-urls=" + url,
		"--advertise-client-urls=" + url,
		"--listen-peer-urls=http://127.0.0.1:0", // there are no peers
		"--initial-cluster=kinform-test=http://localhost:2380",
		"--unsafe-no-fsync",
		"--heartbeat-interval=20", // it elects itself the sooner
		"--election-timeout=200",
		"--quota-backend-bytes=" + strconv.Itoa(8<<30), // room for a multiplied cluster
		"--max-request-bytes=" + strconv.Itoa(16<<20),
		"--log-level=warn",
	}
}

// apiserverFlags is the command line of kube-apiserver. What is not listed is
// at its default, the watch cache and its bookmarks included.
func apiserverFlags(dir string, port, etcdPort int, c *credentials) []string {
	return []string{
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // it refuses to publish a loopback address
		"--cert-dir=" + dir,
		"--tls-cert-file=" + c.certFile,
		"--tls-private-key-file=" + c.keyFile,
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", etcdPort),
		// History ends when the test says so. Zero would say the same, but then
		// kube-apiserver would not notice compactions by others either.
		"--etcd-compaction-interval=8760h",
		"--token-auth-file=" + c.tokenFile,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.serviceAccountKeyFile,
		"--service-account-signing-key-file=" + c.serviceAccountKeyFile,
		"--service-cluster-ip-range=10.0.0.0/16",
		// Without a controller manager there are no service accounts, and this
		// plugin would refuse every pod.
		"--disable-admission-plugins=ServiceAccount",
	}
}

// freePorts finds n loopback ports that nobody listens on. They lie below the
// range from which systems take the ports of outgoing connections, so that a
// port is still free when a stopped server wants it back.
func freePorts(n int) ([]int, error) {
	const low, high = 20000, 30000
	var ports []int
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	var last error
	for range 1000 {
		if len(ports) == n {
			return ports, nil
		}
		port := low + rand.IntN(high-low)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			last = err
			continue
		}
		held, ports = append(held, l), append(ports, port)
	}
	return nil, fmt.Errorf("find %d free loopback ports between %d and %d: %w", n, low, high, last)
}
