// Package hot finds what changes most in a cluster, and who changes it: by kind,
// namespace, object and field manager. It also finds managers that fight: that
// change the same field of the same object in turn.
//
//  1. managers.go finds out who has made a change, by the managed fields of both
//     states.
//  2. A Tracker (tracker.go) counts the change, and follows the object's fields
//     (fields.go). What it holds is bounded in bytes (counter.go): where there is no
//     more room, what has changed least is forgotten.
//  3. Report (report.go) says what was found.
//
// What may live here: counting changes. What may not: output, and anything that asks a
// server.
package hot
