// Package cluster is a small living cluster on top of an API server that has no
// controllers: it does the work of users, controllers, scheduler and kubelets,
// so that objects come, change and go as they do in production.
//
// Deployments roll out by making a new ReplicaSet and moving pods over one by
// one; StatefulSets update in order, from the last pod to the first; pods go
// from Pending over ContainerCreating to Running and Ready, crash, back off and
// recover; nodes renew their leases and fail now and then; Events tell of it.
// What somebody else does to Deployments, StatefulSets and Pods, with kubectl
// say, is noticed and acted upon: a pod that is deleted is replaced, a
// Deployment that is scaled gets its pods, a new one is rolled out, a pod
// without an owner is run. But nothing happens of its own to what others have made.
//
// It writes through client-go and works against any server, apisim or a real
// kube-apiserver; a cluster with its own controllers would fight with it.
//
// How a change comes about: step (step.go) takes a task at random. A task is
// something with unfinished work: a workload (deployment.go, statefulset.go), a
// pod (pod.go), a node (nodes.go), an event (events.go). It makes one write
// towards its goal and is put back until it is there. When little is left to
// do, a story (stories.go) begins: a rollout, a scaling, a crash. Run (run.go)
// calls step at the chosen rate, and listens to what others do (outside.go).
//
// What may live here: behaviour of cluster components as far as it makes
// objects change. What may not: anything that reaches into a server other than
// by its API, and the making of realistic objects (see internal/objects).
package cluster

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/internal/objects"
)

// Options describe a cluster. The zero value works.
type Options struct {
	// Objects is about how many objects Populate makes. Default 1,000.
	Objects int
	// Rate is how many changes a second Run makes. Default 10.
	Rate float64
	// Seed decides everything that looks random.
	Seed int64
	// Namespaces is the number of namespaces. Default 5.
	Namespaces int
	// Nodes is the number of nodes. Default one for 50 objects, 3 to 500.
	Nodes int
	// Load creates many objects at once, and is what Populate uses if given:
	// apisim's Server.Load, for one. Without it Populate uses the API.
	Load func(iter.Seq[runtime.Object]) error
}

func (o Options) withDefaults() Options {
	if o.Objects <= 0 {
		o.Objects = 1_000
	}
	if o.Rate <= 0 {
		o.Rate = 10
	}
	if o.Namespaces <= 0 {
		o.Namespaces = 5
	}
	if o.Nodes <= 0 {
		o.Nodes = min(max(o.Objects/50, 3), 500)
	}
	return o
}

// Cluster simulates one cluster. Populate and Run must not run at the same
// time; Totals may be called at any time.
type Cluster struct {
	opts    Options
	client  kubernetes.Interface
	meta    metadata.Interface
	rand    *rand.Rand
	now     func() time.Time
	catalog *catalog

	// The model: what the cluster knows of its own objects. It belongs to the
	// goroutine that calls step.
	workloads []*workload
	byName    map[string]*workload
	pods      map[types.UID]*pod
	settings  []objectName // config maps
	nodes     []*node
	tasks     []task
	posted    []objectName // events, oldest first
	noBinding bool         // the server does not bind pods; they are patched
	nextApp   int
	story     func() task // begins something new

	heard  notices
	counts counts
}

// New returns the simulator of a cluster on the server of cfg. Nothing is
// written before Populate or Run.
func New(cfg *rest.Config, o Options) (*Cluster, error) {
	cfg = rest.CopyConfig(cfg)
	if cfg.QPS == 0 {
		cfg.QPS = -1 // Options.Rate is the limit
	}
	cfg.WarningHandler = rest.NoWarnings{}
	typed := rest.CopyConfig(cfg)
	if typed.ContentType == "" {
		typed.ContentType = runtime.ContentTypeProtobuf
		typed.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return nil, fmt.Errorf("connect the simulated cluster to %s: %w", cfg.Host, err)
	}
	meta, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect the simulated cluster to %s: %w", cfg.Host, err)
	}
	return newWith(client, meta, o), nil
}

func newWith(client kubernetes.Interface, meta metadata.Interface, o Options) *Cluster {
	o = o.withDefaults()
	c := &Cluster{
		opts: o, client: client, meta: meta, now: time.Now,
		rand:   rand.New(rand.NewPCG(uint64(o.Seed), 0x6b696e666f726d)),
		byName: map[string]*workload{}, pods: map[types.UID]*pod{},
		catalog: newCatalog(objects.Options{
			Seed: o.Seed, Namespaces: o.Namespaces, Nodes: o.Nodes, NoManagedFields: true, Now: time.Now(),
		}),
	}
	c.story = c.anyStory
	return c
}
