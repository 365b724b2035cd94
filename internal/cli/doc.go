// Package cli is the program kinform: its commands, and how they talk to people.
//
// The way from a change to the screen:
//
//  1. watch.go and demo.go say what is watched, as targets (selection.go).
//  2. A session (session.go) runs the targets' informers, counts what happens,
//     and hands each change to a printer.
//  3. A printer (line.go, json.go, unified.go) makes text of a change. Secrets are
//     hidden before a printer sees them (internal/redact).
//  4. The screen (screen.go) puts text, a live panel and the progress line onto the
//     terminal. What people see there fits its width (columns.go, table.go).
//
// The demo adds a server and a cluster, and at its end compares the caches with
// the server's lists and with what the events add up to (verify.go,
// demoresource.go).
//
// top.go is a session whose printer counts (package hot). dump.go and get.go run
// informers until they have synced (gather.go), to describe them, and to query what they
// hold (query.go). bench.go starts the program again for each side (benchparent.go,
// benchside.go). Completion and manual pages are made of the commands themselves
// (completion.go, man.go). What the commands over resources share is in command.go, how
// long they may take in limit.go, and what was not read by then in unread.go.
//
// Everything that goes wrong is reported by problem.go: what, why, and what to do.
//
// What may live here: what concerns people at a terminal. What may not: anything
// that other programs would want from a library.
package cli
