package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clientgodynamic "k8s.io/client-go/dynamic/dynamicinformer"
	clientgo "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	kinformdynamic "github.com/kinform/kinform/dynamicinformer"
	kinforminformers "github.com/kinform/kinform/informers"

	"github.com/kinform/kinform/internal/humane"
)

// newBenchSide is the command of one side: it reads its job from its input.
func newBenchSide() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:     sideCommand,
		Short:   "One side of kinform bench",
		Example: "  kinform bench starts it",
		Hidden:  true,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var job benchJob
			if err := json.NewDecoder(cmd.InOrStdin()).Decode(&job); err != nil {
				return &problem{what: "cannot read the job", why: innermost(err), cause: err}
			}
			srv, err := c.load()
			if err != nil {
				return err
			}
			return job.run(cmd.Context(), srv, cmd.OutOrStdout())
		},
	}
	c.flags(cmd.Flags())
	return cmd
}

// side is one side while it runs.
type side struct {
	job       benchJob
	out       *json.Encoder
	received  atomic.Int64
	handled   atomic.Int64
	informers []cache.SharedIndexInformer
	synced    []cache.InformerSynced
	failed    chan error
}

// run measures one side.
func (job benchJob) run(ctx context.Context, srv *server, out io.Writer) error {
	s := &side{job: job, out: json.NewEncoder(out), failed: make(chan error, 1)}
	if err := s.prepare(srv.config); err != nil {
		return &problem{what: "cannot make the informers", why: innermost(err), cause: err}
	}
	before, cpu, began := memoryInUse(), cpuTime(), time.Now()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{}, len(s.informers))
	for _, inf := range s.informers {
		go func() {
			inf.RunWithContext(ctx)
			ended <- struct{}{}
		}()
	}
	m := measurement{}
	if err := s.wait(ctx, srv); err != nil {
		return err
	}
	m.Sync, m.Objects = time.Since(began), s.handled.Load()
	s.watch(ctx)
	m.Events, m.CPU, m.Received = s.handled.Load()-m.Objects, cpuTime()-cpu, s.received.Load()
	m.Memory, m.Peak = max(0, memoryInUse()-before), peakMemory()
	stop()
	for range s.informers {
		<-ended
	}
	return s.out.Encode(sideLine{Result: &m})
}

// wait waits until everything is synced. What the server refuses ends it.
func (s *side) wait(ctx context.Context, srv *server) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		done := 0
		for _, synced := range s.synced {
			if synced() {
				done++
			}
		}
		if done == len(s.synced) {
			return nil
		}
		if n%20 == 0 {
			s.say(fmt.Sprintf("%d of %d synced, %s, %s", done, len(s.synced), humane.Count(s.handled.Load(), "object"), humane.Size(s.received.Load())))
		}
		select {
		case <-tick.C:
		case err := <-s.failed:
			return explain("cannot list or watch", err, srv)
		case <-ctx.Done():
			return errInterrupted
		}
	}
}

// watch lets the informers watch for the time of the job.
func (s *side) watch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.job.Lasts)
	defer cancel()
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	end := time.Now().Add(s.job.Lasts)
	for {
		select {
		case <-tick.C:
			s.say(fmt.Sprintf("%s, watching for another %s", humane.Count(s.handled.Load(), "event"), max(0, time.Until(end)).Round(time.Second)))
		case <-ctx.Done():
			return
		}
	}
}

func (s *side) say(doing string) { _ = s.out.Encode(sideLine{Doing: doing}) } // the end shows

// prepare makes the informers, with one handler each.
func (s *side) prepare(cfg *rest.Config) error {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	s.countBytes(cfg)
	custom, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return err
	}
	typed := rest.CopyConfig(cfg)
	typed.ContentType = runtime.ContentTypeProtobuf
	typed.AcceptContentTypes = strings.Join([]string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON}, ",")
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return err
	}
	for _, r := range s.job.Resources {
		inf, err := s.informer(client, custom, r)
		if err != nil {
			return err
		}
		err = inf.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			if hopeless(err) {
				select {
				case s.failed <- err:
				default: // one is enough
				}
			}
		})
		if err != nil {
			return err
		}
		seen := func() { s.handled.Add(1) }
		handler, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { seen() }, UpdateFunc: func(_, _ any) { seen() }, DeleteFunc: func(any) { seen() },
		})
		if err != nil {
			return err
		}
		s.informers, s.synced = append(s.informers, inf), append(s.synced, handler.HasSynced)
	}
	return nil
}

// informer makes the informer of a resource, by the library of the job.
func (s *side) informer(client kubernetes.Interface, custom dynamic.Interface, r benchResource) (cache.SharedIndexInformer, error) {
	gvr := schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
	tweak := func(o *metav1.ListOptions) { o.LabelSelector, o.FieldSelector = r.Labels, r.Fields }
	ours := s.job.Library == kinformSide
	if r.Typed {
		factory := clientgo.NewFilteredSharedInformerFactory
		if ours {
			factory = kinforminformers.NewFilteredSharedInformerFactory
		}
		if generic, err := factory(client, 0, r.Namespace, tweak).ForResource(gvr); err == nil {
			return generic.Informer(), nil
		} // a type of which there is no informer
	}
	if ours {
		return kinformdynamic.NewFilteredDynamicInformer(custom, gvr, r.Namespace, 0, cache.Indexers{}, tweak).Informer(), nil
	}
	return clientgodynamic.NewFilteredDynamicInformer(custom, gvr, r.Namespace, 0, cache.Indexers{}, tweak).Informer(), nil
}

// countBytes counts what comes over the network.
func (s *side) countBytes(cfg *rest.Config) {
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &countedConn{conn, &s.received}, nil
	}
}

type countedConn struct {
	net.Conn
	n *atomic.Int64
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n.Add(int64(n))
	return n, err
}
