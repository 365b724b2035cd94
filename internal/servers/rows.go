package servers

import (
	"net/http"
	"time"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/apisim/aggregated"
	"github.com/kinform/kinform/apisim/front"
)

// Row is one kind of server.
type Row struct {
	// Name says how it behaves, Stands for what in the world that is.
	Name, Stands string
	// Server is how it is started.
	Server apisim.Options
	// Aggregated, if set, serves the objects instead.
	Aggregated *aggregated.Options
	// Front is what disturbs the clients; Rewrites is what everybody gets to see
	// differently, those who compare included.
	Front, Rewrites front.Layer
	// Lagging has requests alternate between two servers of the cluster, of which
	// one or the other lags.
	Lagging bool
	// Rights: objects vanish and appear, as the rights to see them do.
	Rights bool
	// Gaps: a watch that begins again may have missed a deletion, and no client can
	// know. The story deletes nothing while no watch is open.
	Gaps bool
	// Unordered: the versions of one object, or of those that have its name one after
	// the other, do not grow, so that nothing can be said about the order of states.
	Unordered bool
	// Chance: how soon kinform's caches are equal depends on where between two tries
	// the last change comes. Their cells show the longest.
	Chance bool
	// Polled: the same goes for client-go's, as only lists tell.
	Polled bool
	// Unseen: nothing that the server sends shows how old it is, so Status cannot
	// tell.
	Unseen bool
	// Reason is why a client of kinform is later than client-go's, if one is. Remark
	// is what else there is to know.
	Reason, Remark string
}

// Rows returns the matrix.
func Rows() []Row {
	var rows []Row
	rows = append(rows, plain()...)
	rows = append(rows, versions()...)
	rows = append(rows, watching()...)
	return append(rows, rewriting()...)
}

// plain are servers that do nothing unusual.
func plain() []Row {
	return []Row{
		{Name: "HTTP/2 over TLS", Stands: "kube-apiserver", Server: apisim.Options{TLS: true}},
		{Name: "HTTP/1.1 only, over TLS", Stands: "load balancers and older ingress controllers",
			Server: apisim.Options{TLS: true, HTTP1: true}},
		{Name: "HTTP/1.1 without TLS", Stands: "`kubectl proxy`, side-cars"},
		{Name: "no bookmarks", Stands: "kube-apiserver before 1.16, most aggregated servers",
			Front: front.Chain(front.RefuseInitialEvents(), front.DropQuery("allowWatchBookmarks"))},
		{Name: "two API servers that lag behind each other, requests alternate",
			Stands: "a control plane of several, behind a load balancer", Server: apisim.Options{TLS: true}, Lagging: true},
	}
}

// versions are servers with resource versions of their own making.
func versions() []Row {
	return []Row{
		{Name: "an aggregated server, versions in order", Stands: "servers built on k8s.io/apiserver",
			Aggregated: &aggregated.Options{}},
		{Name: "DELETED carries the stored version", Stands: "aggregated servers, kube-apiserver before 1.11",
			Aggregated: &aggregated.Options{StoredVersionOnDelete: true}},
		{Name: "objects appear and vanish with the version that they had", Stands: "OpenShift's project watcher: rights come and go",
			Aggregated: &aggregated.Options{StoredVersionOnDelete: true}, Rights: true},
		{Name: "versions unordered across objects", Stands: "servers that count the states of each object",
			Aggregated: &aggregated.Options{Versions: aggregated.UnorderedAcross()}, Unordered: true},
		{Name: "versions unordered, of one object too", Stands: "databases that draw their versions",
			Aggregated: &aggregated.Options{Versions: aggregated.Unordered()}, Unordered: true,
			Reason: "kinform takes a state with a lower version than the stored one for an older state (point 6 of the contract), until the next list"},
		{Name: "versions repeated across objects", Stands: "a counter in each object, from 1",
			Aggregated: &aggregated.Options{Versions: aggregated.PerObject()}, Gaps: true, Unordered: true},
		{Name: "the same version for everything", Stands: "servers that do not version",
			Aggregated: &aggregated.Options{Versions: aggregated.Constant()}, Gaps: true, Unordered: true,
			Reason: "kinform takes an event with the stored version for one that comes again, until the next list"},
		{Name: "no versions", Stands: "servers over files and foreign APIs",
			Aggregated: &aggregated.Options{Versions: aggregated.Absent()}, Gaps: true},
		{Name: "versions that are no numbers", Stands: "servers over other databases",
			Aggregated: &aggregated.Options{Versions: aggregated.Opaque()}},
		{Name: "no versions, no watch (405)", Stands: "metrics.k8s.io",
			Aggregated: &aggregated.Options{Versions: aggregated.Absent()}, Front: front.RefuseWatches(http.StatusMethodNotAllowed), Polled: true},
	}
}

const backsOff = "kinform counts a watch that breaks as failed, if nothing came of it, and waits longer before each next one, up to 45 s"

// watching are servers and proxies whose watches are not what they should be.
func watching() []Row {
	return []Row{
		{Name: "watch refused: 403", Stands: "a role without the verb `watch`", Front: front.RefuseWatches(http.StatusForbidden), Polled: true},
		{Name: "watch refused: 405", Stands: "servers that cannot watch", Front: front.RefuseWatches(http.StatusMethodNotAllowed), Polled: true},
		{Name: "watch refused: 501", Stands: "gateways that do not stream", Front: front.RefuseWatches(http.StatusNotImplemented), Polled: true},
		{Name: "a watch is answered with a list", Stands: "servers and gateways that do not know `watch=true`",
			Front: front.DropQuery("watch", "sendInitialEvents", "resourceVersionMatch"), Polled: true},
		{Name: "watches buffered until they end", Stands: "proxies that collect an answer before they pass it on",
			Front: front.BufferWatches(0)},
		{Name: "watches buffered in blocks of 16 KiB", Stands: "nginx with proxy_buffering", Front: front.BufferWatches(16 << 10)},
		{Name: "watches end every second", Stands: "load balancers with a short time limit", Front: front.EndWatches(time.Second)},
		{Name: "watches break every second", Stands: "load balancers that reset, networks that lose", Front: front.CutWatches(time.Second),
			Chance: true, Reason: backsOff},
		{Name: "events come 10 s late", Stands: "overloaded servers and proxies", Front: front.DelayWatches(10 * time.Second), Unseen: true},
	}
}

// rewriting are proxies that change what passes.
func rewriting() []Row {
	return []Row{
		{Name: "unknown parameters are dropped", Stands: "gateways with a list of what they let through",
			Front:  front.DropQuery("allowWatchBookmarks", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds"),
			Remark: "client-go begins with a watch whose first objects a bookmark must close, and waits for it for ever"},
		{Name: "JSON only, fields in another order, some taken away", Stands: "gateways that inspect and filter",
			Rewrites: front.Rewrite(func(o map[string]any) {
				if m, ok := o["metadata"].(map[string]any); ok {
					delete(m, "creationTimestamp")
					delete(m, "managedFields")
				}
			})},
		{Name: "pieces of 7 bytes", Stands: "proxies with buffers of their own", Front: front.Rechunk(7)},
		{Name: "everything compressed again", Stands: "CDNs, nginx with gzip_proxied", Server: apisim.Options{TLS: true}, Front: front.Gzip()},
	}
}
