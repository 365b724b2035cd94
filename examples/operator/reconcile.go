package main

import (
	"context"
	"fmt"
	"html"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// byHost is the name of the index of sites by their host.
const byHost = "spec.host"

// publisher keeps, for each site that has its host for itself, a ConfigMap with the
// page; and the state of each site.
type publisher struct{ client.Client }

// setUp adds the publisher to a manager.
func (p *publisher) setUp(ctx context.Context, m ctrl.Manager) error {
	host := func(obj client.Object) []string { return []string{obj.(*Site).Spec.Host} }
	if err := m.GetFieldIndexer().IndexField(ctx, &Site{}, byHost, host); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(m).
		For(&Site{}).
		Owns(&corev1.ConfigMap{}).
		Watches(&Site{}, handler.EnqueueRequestsFromMapFunc(p.rivals)).
		Complete(p)
}

// rivals returns the other sites that want the host of a site: one of them may have it
// now, or may not any more.
func (p *publisher) rivals(ctx context.Context, obj client.Object) []reconcile.Request {
	var all SiteList
	if err := p.List(ctx, &all, client.MatchingFields{byHost: obj.(*Site).Spec.Host}); err != nil {
		return nil // it names the cause in the log, and the site itself is looked at anyway
	}
	var requests []reconcile.Request
	for _, s := range all.Items {
		if s.UID != obj.GetUID() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&s)})
		}
	}
	return requests
}

// Reconcile makes what there is of one site what there ought to be.
func (p *publisher) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var site Site
	if err := p.Get(ctx, req.NamespacedName, &site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // its page goes with it: it owns it
	}
	state := published
	first, err := p.hasHost(ctx, &site)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case !first:
		state, err = taken, p.withdraw(ctx, &site)
	default:
		err = p.publish(ctx, &site)
	}
	if err == nil && site.Status.State != state {
		site.Status.State = state
		err = p.Status().Update(ctx, &site)
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return ctrl.Result{RequeueAfter: 1}, nil // the cache has yet to see what somebody wrote
	}
	return ctrl.Result{}, err
}

// hasHost reports whether a site is the first of those that want its host.
func (p *publisher) hasHost(ctx context.Context, site *Site) (bool, error) {
	var all SiteList
	if err := p.List(ctx, &all, client.MatchingFields{byHost: site.Spec.Host}); err != nil {
		return false, err
	}
	for _, s := range all.Items {
		if goesBefore(&s, site) {
			return false, nil
		}
	}
	return true, nil
}

// goesBefore orders sites: who has the host keeps it; else the older one gets it. Times
// are in seconds, so that more than one may be the oldest.
func goesBefore(a, b *Site) bool {
	if has, had := a.Status.State == published, b.Status.State == published; has != had {
		return has
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.UID < b.UID
}

func page(site *Site) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name + "-page"}}
}

func (p *publisher) publish(ctx context.Context, site *Site) error {
	cm := page(site)
	_, err := controllerutil.CreateOrUpdate(ctx, p.Client, cm, func() error {
		cm.Data = map[string]string{"index.html": fmt.Sprintf("<title>%s</title><p>%s</p>\n", html.EscapeString(site.Spec.Host), html.EscapeString(site.Spec.Text))}
		return controllerutil.SetControllerReference(site, cm, p.Scheme())
	})
	return err
}

func (p *publisher) withdraw(ctx context.Context, site *Site) error {
	return client.IgnoreNotFound(p.Delete(ctx, page(site)))
}
