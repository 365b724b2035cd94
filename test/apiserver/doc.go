// Package apiserver runs a real etcd and a real kube-apiserver for tests.
//
// A [Server] is one etcd and one kube-apiserver on free loopback ports, with a
// data folder of their own. It hands out client configurations, stops, kills
// and restarts either process on the same ports, compacts etcd, and writes
// straight into etcd. [Kubectl] runs the kubectl of the same release against
// any server.
//
// The programs are built once by
//
//	go -C test/apiserver run ./cmd/build
//
// and a test that misses them fails with that command. There is no controller
// manager, no scheduler and no kubelet: nothing moves unless the test moves it.
// A Deployment makes no pods, an owner's objects are not collected, and a
// deleted namespace stays in phase Terminating.
//
// In a test package:
//
//	func TestMain(m *testing.M) { os.Exit(apiserver.Main(m)) }
//
//	func TestPods(t *testing.T) {
//		server := apiserver.Shared(t)
//		client := kubernetes.NewForConfigOrDie(server.Config())
//		...
//	}
//
// What belongs here is what it takes to run the servers and to disturb them.
// What servers are expected to do belongs to the tests that use this package.
package apiserver
