// Package servers is the matrix of servers: ways in which API servers, and proxies in
// front of them, differ from the one that a client was tuned for. Each Row
// says how a server behaves and what that stands for. Play runs three clients on
// it side by side (package kinform, its drop-in for client-go's informers, and
// client-go's own), has a story of changes happen, and reports when each cache
// became equal to the server, and what is to be seen while it is not.
//
// It is made for bubbles of testing/synctest: clients have the settings that
// they have in production, and minutes of silence cost nothing.
//
// What may live here: rows, the story, and how to compare. How a server
// misbehaves is in packages apisim, front and aggregated, for everybody's tests.
package servers
