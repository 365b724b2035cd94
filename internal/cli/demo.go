package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/apisim/cluster"
	"github.com/kinform/kinform/internal/humane"
)

// demoFlags are those of kinform demo.
type demoFlags struct {
	output     outputFlags
	objects    int
	rate       float64
	seed       int64
	lasts      lasting
	port       int
	kubeconfig string
	page       string
}

func newDemo(s *screen) *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a living cluster that runs in this process",
		Long: `Start an API server and a small living cluster in this process, and watch its
pods, deployments, statefulsets, nodes and events. Nothing has to be installed,
and nothing is left behind.

Workloads roll out, scale, crash and go at the chosen rate. kubectl works on the
cluster, too, and a page shows the informers as they run. At the end it is checked
that what was watched equals what the server lists.`,
		Example: `  kinform demo                                 until Ctrl-C
  kinform demo --for 10s                       for ten seconds
  kinform demo --objects 20000 --rate 500      a larger and busier one
  kinform demo -o diff                         as a patch shows it
  kinform demo --port 6443                     the API server at a port of your choice
  kinform demo --page 127.0.0.1:7070           and the page at an address of your choice
  kinform demo --write-kubeconfig demo.yaml    and then, in another terminal:
    kubectl --kubeconfig demo.yaml get pods -A --watch`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := f.check(cmd, s)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), s, p)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.IntVar(&f.objects, "objects", 1000, "about how many objects the cluster has")
	fl.Float64Var(&f.rate, "rate", 5, "how many changes a second")
	fl.Int64Var(&f.seed, "seed", 1, "another seed is another cluster")
	f.lasts.flags(fl)
	f.output.flags(fl)
	fl.StringVar(&f.kubeconfig, "write-kubeconfig", "", "write a kubeconfig to `FILE` while the demo runs")
	fl.IntVar(&f.port, "port", 0, "port of the API server on 127.0.0.1; 0 is one that is free")
	fl.StringVar(&f.page, "page", "127.0.0.1:0", "where the page is that shows the informers; port 0 is one that is free, off is none")
	return cmd
}

func (f *demoFlags) check(cmd *cobra.Command, s *screen) (printer, error) {
	switch {
	case f.objects <= 0:
		return nil, badUsage(cmd, fmt.Sprintf("--objects %d: there must be some", f.objects))
	case f.rate <= 0:
		return nil, badUsage(cmd, fmt.Sprintf("--rate %g: there must be some", f.rate))
	case f.port < 0 || f.port > math.MaxUint16:
		return nil, badUsage(cmd, fmt.Sprintf("--port %d is no port: it is 0, for one that is free, to %d", f.port, math.MaxUint16))
	}
	if err := f.lasts.check(cmd); err != nil {
		return nil, err
	}
	if f.page != "off" {
		if err := checkPageAddress(cmd, "--page", f.page, false); err != nil {
			return nil, err
		}
	}
	return f.output.printer(cmd, s)
}

// demo is a session over a server and a cluster of its own.
type demo struct {
	*session
	api       *apisim.Server
	simulator *cluster.Cluster
	resources []demoResource
	ledger    *ledger
}

func (f *demoFlags) run(ctx context.Context, s *screen, p printer) (err error) {
	began := time.Now()
	api, err := apisim.Start(apisim.Options{Addr: fmt.Sprintf("127.0.0.1:%d", f.port), ManagedFields: true})
	if err != nil {
		return &problem{what: fmt.Sprintf("cannot start the demo's API server at port %d", f.port), why: innermost(err), cause: err,
			do: "choose another one with --port; 0 is one that is free"}
	}
	defer func() { err = errors.Join(err, api.Close()) }()
	d, err := f.newDemo(api, s, p)
	if err != nil {
		return err
	}
	if err := d.simulator.Populate(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // interrupted: nothing has happened yet
		}
		return &problem{what: "cannot fill the demo's cluster", why: err.Error(), cause: err}
	}
	if f.kubeconfig != "" {
		remove, err := writeKubeconfig(f.kubeconfig, api.URL())
		if err != nil {
			return err
		}
		defer remove()
	}
	s.note(fmt.Sprintf("A Kubernetes API server runs in this process, at %s.", api.URL()))
	s.note(fmt.Sprintf("Its cluster of %s was made in %s and makes %g changes a second.",
		humane.Count(d.simulator.Totals().Sum(), "object"), short(time.Since(began)), f.rate))
	s.note("Have a look, in another terminal: " + f.kubectl(api.URL()))
	if f.page != "off" {
		p, err := openPage(f.page, "kinform demo", "", d.targets)
		if err != nil {
			return err
		}
		defer p.close()
		s.note("or in a browser: " + p.url)
	}
	s.note("")
	ctx, cancel := f.lasts.limited(ctx)
	defer cancel()
	return d.run(ctx)
}

// kubectl is a command that works on the demo.
func (f *demoFlags) kubectl(url string) string {
	if f.kubeconfig != "" {
		return "kubectl --kubeconfig " + f.kubeconfig + " get pods -A --watch"
	}
	return "kubectl --server " + url + " get pods -A --watch"
}

func (f *demoFlags) newDemo(api *apisim.Server, s *screen, p printer) (*demo, error) {
	cfg := api.Config()
	sim, err := cluster.New(cfg, cluster.Options{Objects: f.objects, Rate: f.rate, Seed: f.seed, Load: api.Load})
	if err != nil {
		return nil, &problem{what: "cannot make the demo's cluster", why: innermost(err), cause: err}
	}
	resources, err := demoResources(cfg)
	if err != nil {
		return nil, &problem{what: "cannot watch the demo's cluster", why: innermost(err), cause: err}
	}
	d := &demo{api: api, simulator: sim, resources: resources, ledger: newLedger(), session: &session{
		screen: s, printer: p, initial: f.output.initial, live: true,
		server: &server{config: cfg, from: "the demo"},
	}}
	d.observe = d.ledger.enter
	for _, r := range resources {
		d.targets = append(d.targets, r.target)
	}
	f.output.align(p, d.targets)
	return d, nil
}

// run lets the cluster live while the session shows it. At the end it stops the
// cluster and checks that nothing was missed.
func (d *demo) run(ctx context.Context) error {
	living, end := context.WithCancel(context.WithoutCancel(ctx))
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var life sync.WaitGroup
	die := func() {
		end()
		life.Wait()
	}
	defer die()
	life.Go(func() {
		if _, err := d.simulator.Run(living); err != nil {
			fail(&problem{what: "the demo's cluster died", why: err.Error(), cause: err})
		}
	})
	d.finish = func(ctx context.Context) error {
		die()
		memory := memoryInUse() // before the check, which needs a lot itself
		d.screen.setProgress(d.screen.fit("checking the cache against the server's list"))
		checked, err := d.verify(ctx)
		d.screen.setProgress("")
		d.report(memory, checked, err)
		return err
	}
	return d.session.run(ctx)
}

// report writes the totals.
func (d *demo) report(memory int64, checked int, err error) {
	h := holdingsOf(d.targets)
	check := fmt.Sprintf("the cache equals the server's list: %s, field by field", humane.Count(checked, "object"))
	if err != nil {
		check = "failed"
	}
	merged := "every one was delivered"
	if h.merged > 0 {
		merged = humane.Thousands(h.merged) + " merged into later ones, as the output was slow"
	}
	s := d.screen
	s.note("")
	s.note(fmt.Sprintf("events   %s in %s: %s; %s", humane.Thousands(d.totals.events()), short(d.ended.Sub(d.began)), d.totals.byKind(), merged))
	s.note(fmt.Sprintf("objects  %s, %s as the server sent them, held in %s: %s bytes for each",
		humane.Thousands(h.objects), humane.Size(h.bytes), humane.Size(h.packed), humane.Thousands(h.perObject())))
	s.note(fmt.Sprintf("memory   %s for all of this process: API server, living cluster and cache", humane.Size(memory)))
	s.note("check    " + check)
}
