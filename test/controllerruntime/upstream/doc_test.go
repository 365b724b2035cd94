// Package cache_test is where controller-runtime's own tests of its cache and of its
// consistent client run on ctrlcache: TestUpstream lays them over this folder. This file
// has the modules required that they import.
package cache_test

import (
	_ "github.com/onsi/ginkgo/v2"
	_ "github.com/onsi/gomega"
	_ "k8s.io/client-go/applyconfigurations/core/v1"
	_ "k8s.io/utils/ptr"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	_ "sigs.k8s.io/controller-runtime/pkg/envtest"
	_ "sigs.k8s.io/controller-runtime/pkg/log/zap"

	_ "github.com/kinform/kinform/ctrlcache"
)
