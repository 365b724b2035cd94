// Package ctrlcache is controller-runtime's cache on kinform's engine. In an operator it
// is one line:
//
//	ctrl.NewManager(cfg, ctrl.Options{NewCache: ctrlcache.New})
//
// The cache holds each object as the bytes that the server sent, packed, and each kind
// once: however it is read (as a Go type, as PartialObjectMetadata, as Unstructured),
// there is one watch and one store for what a set of selectors selects. The watch
// begins with what its readers need. When one joins who needs more (whole objects where
// only metadata was watched, JSON where protobuf was) it is replaced, by a list that is
// compared with the store: nobody misses an event, gets one twice, or reads an older
// state than before.
//
// A manager makes the connections for its cache, too. With a configuration of kube.Tuned
// long lists come faster:
//
//	cfg, err := kube.Tuned(cfg)
//
// Every option of cache.Options means what it means in controller-runtime, and errors
// are the same. Some things are better than there:
//
//   - Get and List give objects that are the caller's own, decoded straight into the
//     caller's memory. Objects that are read again and again are kept decoded, within
//     limits, and copied.
//   - List selects by label, namespace and index before it decodes anything.
//   - TransformStripManagedFields costs nothing: the fields are cut out of the bytes.
//   - A kind that does not sync says why: in the log, in the error of a read or of
//     GetInformer that has waited without result, and in [Healthz].
//   - The page of package debug shows its informers: page.Add("cache", mgr.GetCache()).
//   - A kind that the server refuses (forbidden, no such resource) holds up nobody who
//     does not read it. WaitForCacheSync, which every controller calls before it begins,
//     does not wait for it; who reads it, or asks for its informer, does.
//
// A transform runs when an object is decoded, so it may run again for a state that was
// not read for a while, and for several objects at a time: it must give the same result
// each time, and what it shares with other calls needs a lock. Objects that cannot be
// decoded are left out of lists and reported, as in all of kinform; the others are not
// affected. With Options.NewInformer the program makes the informers itself, of objects
// and not of bytes; the cache is controller-runtime's own then.
//
// # Reading the source
//
//	cache.go      New, Start, and what is asked of a cache as a whole
//	settings.go   which settings hold for a kind in a namespace
//	kind.go       kinds, and the scopes in which each is watched
//	form.go       the three forms in which objects are read
//	member.go     one kind in one form and one scope: its informer
//	read.go       Get
//	list.go       List: what is selected
//	fill.go       List: what is selected is read
//	index.go      IndexField, and selection by fields
//	several.go    informers of several namespaces that look like one
//	health.go     why something has not synced, and what others see of informers
package ctrlcache
