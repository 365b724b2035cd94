package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/humane"
)

// serveFlags are those of kinform serve.
type serveFlags struct {
	selection
	address   string
	tokenFile string
	lasts     time.Duration
}

func newServe(s *screen) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve RESOURCE...",
		Short: "Serve a page that shows informers of a cluster's resources as they run",
		Long: `Run an informer of each RESOURCE and serve a page that shows them: what each is
doing and why it fails, its objects and memory, what changes most, the largest
objects, each change as it happens, and one object as YAML. The values in Secrets
are never shown. Every view is there as JSON, too.

The page is for this machine, unless --address says otherwise: then whoever opens
it needs the token in --token-file, as http://…/?token=… or as a bearer token.

RESOURCE and the choice of the cluster are those of kinform watch. Ctrl-C ends it.`,
		Example: `  kinform serve pods,deploy,nodes -A                 http://127.0.0.1:7070
  kinform serve pods --address 127.0.0.1:0           a port that is free
  kinform serve pods --address :7070 --token-file t  for others, who need the token
  curl http://127.0.0.1:7070/overview.json           for other programs`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return badUsage(cmd, "which resource? For example: kinform serve pods")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.run(cmd.Context(), s, args)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	f.selection.flags(fl)
	fl.StringVar(&f.address, "address", "127.0.0.1:7070", "where the page is; port 0 is one that is free")
	fl.StringVar(&f.tokenFile, "token-file", "", "`FILE` with the token that the page wants")
	fl.DurationVar(&f.lasts, "for", 0, "end after this time, such as 30s (default: at Ctrl-C)")
	f.connection.flags(fl)
	return cmd
}

// check finds what is wrong with the flags before any server is asked.
func (f *serveFlags) check(cmd *cobra.Command) error {
	if err := f.selection.check(cmd); err != nil {
		return err
	}
	if f.lasts < 0 {
		return badUsage(cmd, fmt.Sprintf("--for %s is in the past", f.lasts))
	}
	return checkPageAddress(cmd, "--address", f.address, f.tokenFile != "")
}

func (f *serveFlags) run(ctx context.Context, s *screen, args []string) error {
	ctx, cancel := limited(ctx, f.lasts)
	defer cancel()
	token, err := readToken(f.tokenFile)
	if err != nil {
		return err
	}
	srv, targets, err := f.targets(ctx, args)
	if err != nil || len(targets) == 0 {
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	var running sync.WaitGroup
	for _, t := range s.targets {
		running.Go(func() { _ = t.inf.Run(ctx) }) // it was not running
		running.Go(func() { s.attend(ctx, t, began) })
	}
	var failed error
	select {
	case <-ctx.Done():
	case err := <-p.ended:
		if p.ended <- err; !errors.Is(err, http.ErrServerClosed) {
			failed = &problem{what: "cannot serve the page any longer", why: innermost(err), cause: err}
		}
	}
	cancel()
	running.Wait()
	h := holdingsOf(s.targets)
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
