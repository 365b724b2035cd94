// Package kinform keeps a local, indexed, always-current copy of objects in a
// Kubernetes API server and calls your handlers when something changes.
//
//	pods, err := kinform.New[*corev1.Pod](cfg, kinform.Options{})
//	byNode, err := pods.AddIndex("node", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} })
//	pods.Subscribe(func(ctx context.Context, ev kinform.Event[*corev1.Pod]) {
//		if pod, err := ev.New(); err == nil {
//			slog.Info("pod", "event", ev.Type, "key", ev.Key, "phase", pod.Status.Phase)
//		}
//	}, kinform.SubscribeOptions{})
//	go pods.Run(ctx)
//	if err := pods.WaitSynced(ctx); err != nil {
//		return err // names the cause
//	}
//	for pod := range byNode.Get("node-7") { … }
//
// The cache holds each object as the bytes that the server sent. An object is
// decoded when somebody reads it; keys, labels and versions need no decoding.
//
// # Contract
//
//  1. Order. For one subscriber, calls never overlap, and the states of one
//     object arrive in the server's order: Added, then any number of Updated,
//     then Deleted; never Updated or Deleted before Added.
//  2. Store first. When a handler is called for a change, the store and the indexes
//     already have it, or something newer.
//  3. Late joiners get one Added for each object in the store, then every later
//     change: nothing twice, nothing missed.
//  4. Sync is per subscriber: it is done when the handler has returned from every
//     object of the initial list. Nothing polls.
//  5. A relist is atomic to readers, leaves unchanged objects alone, reports objects
//     that are gone as Deleted with FinalStateUnknown, and delivers only what
//     differs.
//  6. Never back in time. A state is not replaced by an older one. The one
//     exception is a server whose own history went back (restored from a backup):
//     a consistent list that is older than what the store holds starts a new
//     epoch, replaces everything, and is counted in Status. The cache always ends
//     equal to the server.
//  7. Slow subscribers cost what the live objects cost. Every event is delivered
//     while at most SubscribeOptions.Limit wait, of 16 MiB at most; beyond that,
//     or always with Latest, states in the middle are merged per object: Old is
//     the state last delivered, New the newest. A panicking subscriber does not affect
//     the others; a slow one delays them once, by 50 ms at most.
//  8. Nothing is silent. Status gives state, cause, attempts, resource version and
//     staleness; WaitSynced returns the cause (forbidden, no such resource,
//     unreachable, …) and not just a timeout. Options.Policy decides whether a refusal
//     is retried, ends Run, or counts as an empty resource. An informer that fails
//     does not affect the others of its factory. docs/faults.md shows what each
//     fault looks like.
//  9. Stop means stopped. Run returns when all its goroutines have.
//     Subscription.Stop waits for the handler, and does not deadlock when the
//     handler itself calls it. An informer can be run again. One that was acquired
//     from a factory ends with its last Release, and its memory is given up.
//  10. Bad input is contained. An object that cannot be scanned or indexed is
//     reported and counted, and its last good state kept where there is one; one
//     that does not fit the informer's type is reported, counted, and left out of
//     lists; Event.New and Lister.Get return an error for it. Other objects are not
//     affected.
//     Nothing that a server sends makes the process panic, hang or grow without
//     bound.
//  11. Read your writes. WaitFor, WaitForObject and WaitForDeleted return when the
//     cache holds a version or something newer, across relists, in every namespace
//     that could have it, and for objects that are not selected; WaitForWrites when
//     it holds all that was written through a transport of Writes. Nothing polls.
//     A version that the server does not have, as it was restored from a backup, ends
//     the wait with ErrNoVersion; where versions are not ordered, ErrUnordered does.
//  12. The scope changes. SetScope adds and removes namespaces and changes selectors,
//     while the informer runs or not. Handlers get Deleted, with FinalStateUnknown, for
//     what leaves, Added for what comes, and nothing for what stays; only what is new is
//     listed. What has left is not in the cache any more when SetScope returns; HasSynced
//     and WaitSynced tell when all is there that has come. A namespace that is forbidden,
//     or is being deleted, does not hold up the others. Waits are for the scope as it is
//     when they return.
//  13. Trust, but verify. Verify compares the cache with the server while everything
//     changes, and finds what differs and nothing else: an event that got lost, a
//     history that went back. It repairs that, and Status counts it. Replay tells one
//     subscriber of every object again, at a rate, in order with the changes.
//
// # Warm start
//
// With Options.Snapshot an informer keeps what it has read on disk, and the next process
// begins with that: it can be read at once (Informer.Readable), nothing is listed, and the
// watch brings what has happened since. The contract holds as without it. HasSynced is
// true, and handlers are called, when the server has confirmed the state and the store is
// no older than a list would have been; until then Status says that it is not confirmed,
// and Staleness how old it is. A server that is not the one which the snapshot is of, or
// whose history went back, is recognized by the objects themselves, and listed. The one
// exception to the first point of the contract is SnapshotOptions.OnlyChanges, with which
// Updated and Deleted may come for an object that the last process was told of. No version
// that comes from disk ends a wait for it before the server has confirmed it. What the
// objects cannot show: that a server which was restored from a backup, and whose versions
// are higher again, has objects back that were deleted since, unless it has the one that was
// deleted last; and new defaults of a resource that do not concern its newest object.
//
// # Reading
//
// Objects are shared between all readers and must not be changed; copy them first
// (DeepCopy). A change would be seen by other readers, and in later states of the
// same object, as states share their equal parts. Objects that are alike, such as the pods
// of one workload, have parts in common, too, except for labels and annotations
// (Options.Unshared). Those parts are compared with the bytes at intervals; a change is
// reported, and all objects that have it are decoded again. Any other change disappears
// when the object has not been read for a while, and after 64 states at the latest. The
// cache itself holds bytes and cannot be corrupted. Options.MutationDetector finds the
// reader that made the change.
//
// # Fields
//
// What a program asks most often needs no object. A field is named by its path, which is
// checked once, and read from the bytes:
//
//	node, err := kinform.FieldOf[string](pods, "spec.nodeName")
//	moved := node.New(ev) != node.Old(ev)               // of an event
//	for pod := range pods.Lister().Records(nil) {       // of all objects
//		count[node.Get(pod)]++
//	}
//
// Event.Changed compares fields of both states of an event. A subscriber with a Filter is
// not even called for updates that package predicate refuses, such as those that change
// neither the spec nor the labels. Several fields of many objects are best read by a View
// of a struct that names them.
package kinform
