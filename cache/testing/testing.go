// Package framework stands in for k8s.io/client-go/tools/cache/testing, which it
// forwards to: sources of objects for tests of informers.
package framework

import clientgo "k8s.io/client-go/tools/cache/testing"

// Sources that tests change by hand.
type (
	FakeControllerSource    = clientgo.FakeControllerSource
	FakePVControllerSource  = clientgo.FakePVControllerSource
	FakePVCControllerSource = clientgo.FakePVCControllerSource
)

// NewFakeControllerSource returns an empty source.
func NewFakeControllerSource() *FakeControllerSource {
	return clientgo.NewFakeControllerSource()
}

// NewFakePVControllerSource returns an empty source of PersistentVolumes.
func NewFakePVControllerSource() *FakePVControllerSource {
	return clientgo.NewFakePVControllerSource()
}

// NewFakePVCControllerSource returns an empty source of PersistentVolumeClaims.
func NewFakePVCControllerSource() *FakePVCControllerSource {
	return clientgo.NewFakePVCControllerSource()
}
