// Package check checks an informer against its contract. A Checker is attached to an
// informer, subscribes to it in as many ways as you like, and checks everything that
// happens:
//
//	c := check.New(pods, check.Options{List: func(ctx context.Context) (runtime.Object, error) {
//		return client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
//	}})
//	c.Subscribe(check.Subscriber{Name: "every"})
//	c.Subscribe(check.Subscriber{Name: "latest", Latest: true})
//	… // run the informer, write, break things
//	if err := c.Compare(ctx); err != nil { … } // nobody writes now: all must be equal
//	c.Stop()
//	if err := c.Err(); err != nil { … }
//
// While things happen, each subscriber's events are replayed into a shadow of the
// store, and each event is looked at: calls do not overlap; Added comes first and
// once; the old state is the one that was delivered before; versions do not go back,
// unless the informer reports that the server's own history did; the store has what
// is delivered to the handler, or something newer; and the object is the one that the
// event names.
//
// At quiet points, Compare compares the shadows, the store, the indexes, what a late
// joiner gets, and the server's own list with each other, field by field.
//
// What is found wrong is kept as Violations, each with the last events of its
// object. Nothing here panics or ends a test.
//
// What may live here: the contract, as seen from outside through an informer's
// public methods. What may not: anything that knows how an informer works, or that
// makes it fail.
package check
