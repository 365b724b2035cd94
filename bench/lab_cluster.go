package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kinform/kinform/bench/programs"
	"github.com/kinform/kinform/test/apiserver"
)

// audited returns the real server, which writes requests down.
func (l *lab) audited() (server, error) {
	if l.real == nil {
		if err := l.ensureFolder(); err != nil {
			return server{}, err
		}
		flags, log, err := auditFlags(l.folder)
		if err != nil {
			return server{}, err
		}
		if l.real, err = apiserver.Start(apiserver.Options{APIServerFlags: flags}); err != nil {
			return server{}, err
		}
		l.audit = log
	}
	c := l.real.Config()
	return server{Host: c.Host, Token: c.BearerToken, CA: c.CAData, Audit: l.audit}, nil
}

// clusterWith returns that server after a cluster was put onto it, and the controllers
// found nothing more to do there.
func (l *lab) clusterWith(ctx context.Context) (server, error) {
	s, err := l.audited()
	if err != nil || l.cluster {
		return s, err
	}
	l.cluster = true
	program, err := builder().Stock(ctx, programs.ControllerManager)
	if err != nil {
		return s, err
	}
	began := time.Now()
	if err := populateCluster(ctx, l.real, l.objects); err != nil {
		return s, err
	}
	fmt.Fprintf(os.Stderr, "%d pods on the server after %.0f s\n", l.objects, time.Since(began).Seconds())
	return s, atRest(ctx, s, program)
}

// scheduledWith returns the same after the scheduler found nothing more to do, either.
func (l *lab) scheduledWith(ctx context.Context) (server, error) {
	s, err := l.clusterWith(ctx)
	if err != nil || l.scheduled {
		return s, err
	}
	l.scheduled = true
	program, err := builder().Stock(ctx, programs.Scheduler)
	if err != nil {
		return s, err
	}
	return s, atRest(ctx, s, program)
}

// atRest has a program do what there is to do.
func atRest(ctx context.Context, s server, program string) error {
	began := time.Now()
	_, err := runChild(ctx, os.Args[0], task{Work: "settle-cluster", Server: s, Program: program}, nil)
	fmt.Fprintf(os.Stderr, "%s: at rest after %.0f s\n", filepath.Base(program), time.Since(began).Seconds())
	return err
}
