// Package metrics shows to Prometheus what informers do. It is one line:
//
//	metrics.Register(prometheus.DefaultRegisterer, factory)
//
// What is registered may be an informer, a lease or a factory of package kinform; an informer or a
// factory of the drop-ins; or a cache of package ctrlcache, with controller-runtime's
// registry:
//
//	metrics.Register(ctrlmetrics.Registry, mgr.GetCache())
//
// Everything is read when Prometheus asks: informers count anyway, and nothing is written
// here while events come. What is registered measures, beside that, how long its handlers take.
// Series are there while the informer runs, and are gone after that.
//
// Labels are bounded. An informer is named by its resource, and a hash of what it selects
// if that is not everything; kinform_informer_info says what that is. Namespaces of one informer
// are summed up. Informers and subscribers beyond those that Options allow are summed up as "other".
//
// docs/metrics.md lists all metrics, with what to do. dashboard.json is a dashboard for Grafana,
// alerts.yaml has rules for Prometheus. Tests compare them with what is here.
package metrics
