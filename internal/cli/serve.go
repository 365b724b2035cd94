package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/humane"
)

// serveFlags are those of kinform serve.
type serveFlags struct {
	selection
	address   string
	tokenFile string
	lasts     lasting
}

func newServe(s *screen) *cobra.Command {
	var f serveFlags
	return f.command(&cobra.Command{
		Use:   "serve RESOURCE...",
		Short: "Serve a page that shows informers of a cluster's resources as they run",
		Long: `Run an informer of each RESOURCE and serve a page that shows them: what each is
doing and why it fails, its objects and memory, what changes most, the largest
objects, each change as it happens, and one object as YAML. The values in Secrets
are never shown. Every view is there as JSON, too.

The page is for this machine, unless --address says otherwise: then whoever opens
it needs the token in --token-file, as http://…/?token=… or as a bearer token.

RESOURCE and the choice of the cluster are those of kinform watch. Ctrl-C ends it.
If a resource has not been read when the time of --for is up, the exit code is 1.`,
		Example: `  kinform serve pods,deploy,nodes -A                 http://127.0.0.1:7070
  kinform serve pods --address 127.0.0.1:0           a port that is free
  kinform serve pods --address :7070 --token-file t  for others, who need the token
  curl http://127.0.0.1:7070/overview.json           for other programs`,
	}, verb{
		example: "kinform serve pods", endless: true, flags: f.flags, check: f.check,
		run: func(ctx context.Context, args []string) error { return f.run(ctx, s, args) },
	})
}

func (f *serveFlags) flags(fl *pflag.FlagSet) {
	fl.StringVar(&f.address, "address", "127.0.0.1:7070", "where the page is; port 0 is one that is free")
	fl.StringVar(&f.tokenFile, "token-file", "", "`FILE` with the token that the page wants")
	f.lasts.flags(fl)
}

func (f *serveFlags) check(cmd *cobra.Command) error {
	if err := f.lasts.check(cmd); err != nil {
		return err
	}
	return checkPageAddress(cmd, "--address", f.address, f.tokenFile != "")
}

func (f *serveFlags) run(ctx context.Context, s *screen, args []string) error {
	ctx, cancel := f.lasts.limited(ctx)
	defer cancel()
	token, err := readToken(f.tokenFile)
	if err != nil {
		return err
	}
	srv, targets, err := f.targets(ctx, args)
	if err != nil {
		return err
	}
	p, err := openPage(f.address, "kinform serve", token, targets)
	if err != nil {
		return err
	}
	defer p.close()
	s.note("The page is at " + p.url)
	if token != "" {
		s.note("Open it once with ?token= and the token in " + f.tokenFile + " at the end of its address.")
	}
	return (&service{screen: s, server: srv, targets: targets}).run(ctx, p)
}

// service runs informers for a page. Unlike a session it gives none of them up: the page
// shows why one fails, and rights may be given later.
type service struct {
	screen  *screen
	server  *server
	targets []*target
}

func (s *service) run(ctx context.Context, p *page) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	began := time.Now()
	var informers sync.WaitGroup
	for _, t := range s.targets {
		informers.Go(func() { _ = t.inf.Run(running) }) // it was not running
		informers.Go(func() { s.attend(running, t, began) })
	}
	var failed error
	select {
	case <-ctx.Done():
		failed = unread(ctx, s.targets, s.server)
	case err := <-p.ended:
		if p.ended <- err; !errors.Is(err, http.ErrServerClosed) {
			failed = &problem{what: "cannot serve the page any longer", why: innermost(err), cause: err}
		}
	}
	h := holdingsOf(s.targets)
	stop()
	informers.Wait()
	s.screen.note(fmt.Sprintf("served for %s: %s, %s as the server sent them, held in %s",
		short(time.Since(began)), humane.Count(h.objects, "object"), humane.Size(h.bytes), humane.Size(h.packed)))
	return failed
}

// attend reports when a target has synced, and what keeps it from its server.
func (s *service) attend(ctx context.Context, t *target, began time.Time) {
	notes := &session{screen: s.screen, server: s.server}
	synced := t.inf.Synced()
	var reported kinform.Reason
	for {
		select {
		case <-synced:
			s.screen.note(fmt.Sprintf("watching %s: %s, synced in %s", t.title(), humane.Count(t.inf.Status().Objects, "object"), short(time.Since(began))))
			synced = nil
		case <-t.alarm:
			reported = notes.reportTrouble(t, t.trouble(), reported)
		case <-ctx.Done():
			return
		}
	}
}
