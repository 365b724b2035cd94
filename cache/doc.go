// Package cache stands in for k8s.io/client-go/tools/cache: change the import
// path, keep the program.
//
// Interfaces and plain data types are aliases of client-go's own, so that what
// is made here goes wherever client-go's goes. The parts that do the work are
// kinform's, with client-go's behaviour:
//
//   - stores: [NewStore], [NewIndexer], [NewThreadSafeStore];
//   - queues: [DeltaFIFO], [RealFIFO];
//   - [StoreReflector], which keeps any store equal to the server;
//   - [Config], [New], [NewInformer] and its variants: reflector, queue and handler
//     in one controller;
//   - [NewCacheMutationDetector], [WaitForCacheSync], [WaitFor], listers, keys.
//
// The shared informers run on kinform's engine. They hold objects as bytes, packed:
// those that the factories read as such, and those that any other ListerWatcher gives,
// where their bytes give back an equal object (see [ObjectOptions]). What is in
// client-go's package but not in this list (stores whose objects expire, heaps,
// fakes, …) forwards to client-go.
//
// File names say which half they belong to: classic_*.go are the parts above, each
// of which works alone; shared_*.go are the shared informers, which use none of the
// classic parts; alias*.go are aliases of client-go's names. Other files (keys,
// listers, waiting, descriptions, …) serve both halves.
//
// [SetSnapshot] has an informer of a factory start from disk.
//
// [WaitForVersion], [WaitForObject], [WaitForDeleted] and [WaitForWrites] wait until a
// shared informer has what the program wrote.
//
// Apart from those, and from descriptions, only client-go's API lives here. New programs find a smaller, typed API in package
// kinform.
package cache
