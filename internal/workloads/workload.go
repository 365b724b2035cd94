package workloads

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/internal/objects"
)

// Workload is one load on the server, and what the subjects do with it.
type Workload struct {
	Name  string // what is selected by
	Title string // what it is called in a table
	Text  string // what a document says about it

	// Resources are what each subject watches.
	Resources []schema.GroupVersionResource
	// Objects is how many there are of each resource.
	Objects int
	// Use is what each subject does with the objects.
	Use Use
	// Rate is how many changes a second the load makes.
	Rate float64
	// Limit is the GOMEMLIMIT of the subjects that have one, in bytes.
	Limit int64
	// ObjectSize is about the weight of one object as it travels. It bounds how
	// much history the server keeps.
	ObjectSize int

	// fill puts so many objects of each resource onto the server and returns what
	// makes one change. Its argument is how far the load has got, from 0 to 1.
	fill func(l *load, objects int) (change func(done float64) error, err error)
}

// Use is what a subject does with the objects.
type Use struct {
	// Handlers is how many there are for each resource. Default 1.
	Handlers int
	// Read: handlers look into the old and the new object; otherwise they use
	// the key alone.
	Read bool
	// Slow is how long each handler takes for a call.
	Slow time.Duration
	// ListEvery reads all objects this often.
	ListEvery time.Duration
	// Getters is how many goroutines get objects at random, each after a pause.
	Getters  int
	GetPause time.Duration
	// Visit runs a second informer with an index of its own for this time, and
	// again, and again.
	Visit time.Duration
	// Ballast is how many bytes of other heap the program has.
	Ballast int64
}

// The resources of the workloads.
var (
	pods           = corev1.SchemeGroupVersion.WithResource("pods")
	events         = corev1.SchemeGroupVersion.WithResource("events")
	secrets        = corev1.SchemeGroupVersion.WithResource("secrets")
	configMaps     = corev1.SchemeGroupVersion.WithResource("configmaps")
	leases         = coordinationv1.SchemeGroupVersion.WithResource("leases")
	endpointSlices = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	databases      = objects.CustomResource
)

const (
	kB  = 1000
	mB  = 1000 * 1000
	mib = 1 << 20
)
