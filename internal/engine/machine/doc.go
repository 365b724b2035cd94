// Package machine decides what a reflector does next. It has three values and one
// function:
//
//   - Known is what is known: the phase, what is proved about the store and about the
//     server, how often things have failed, and what the next list has to be like.
//   - Happened is what happened since: an answer, the end of a watch, the end of a wait.
//   - Do is what to do next: list, probe, watch, wait, compare with the disk, stop.
//
// Next(Known, Happened) returns the next Known and what to do. It reads no clock and makes
// no request: whoever calls it says what is due and how long something took as facts of
// Happened. So every order of events can be tried, and the tests of this package try them
// all, to a depth: a model of a server and of a reader around Next, the code that ships.
//
// What belongs here: every decision about which request comes next, how its answer is
// used, and when a failure counts. What does not: requests, timers, the store, versions as
// they are written, logs, and the status, all of which package engine has. Nothing but the
// engine calls it.
package machine
