// Package debug is a page that shows informers while they run: what each is doing and
// why it fails, its objects and memory, how much changes, what waits for which handler;
// and, of one, its configuration, what it went through, the objects that change most and
// the largest ones, and each change as it happens, field by field.
//
//	page := debug.New(debug.Options{})
//	if err := page.Add("pods", pods); err != nil { … }
//	http.Handle("/debug/kinform/", http.StripPrefix("/debug/kinform", page))
//
// It works under any path, behind no path at all, without a network, and without
// JavaScript. Every view is there as JSON, too: overview.json, informer.json,
// objects.json, object.json (and object.yaml), changes.json.
//
// # Who may look
//
// Without a token, only who is on this machine: the connection, and the name in the
// address bar, have to be loopback ones, so that a web page that the user visits cannot
// use the browser to look. With Options.Token, whoever has the token, from anywhere: as
// a bearer token, or once as ?token=…, which becomes a cookie. Objects are shown to whoever
// may look. Of Secrets, the values are not, neither in a view nor in a change; nor are
// those of their annotations, where kubectl and others keep copies. ConfigMaps are shown
// as they are.
//
// # What it costs
//
// Nothing until somebody looks. Then each informer gets one more subscriber, which counts
// and decodes nothing; objects are decoded for changes that somebody is shown, 32 a second
// at most, and one by one when they are opened. A minute after the last look it ends.
//
// What may live here: what the page and its JSON need. What may not: anything that an
// informer needs to work; package kinform does not know of this one.
package debug
