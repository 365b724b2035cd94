// Package snapshot keeps what an informer has read on disk, so that the next start of
// the program need not list it again: each object as the bytes that the server sent, the
// resource version that they stand for, and what they are a part of.
//
//	f, err := snapshot.Open(dir, scope, snapshot.Options{})
//	mark, err := f.Load(func(e snapshot.Entry) error { … })    // what the last run left
//	err = f.Rewrite(entries, mark)                              // a whole list
//	err = f.Append(changes, mark)                               // what a watch brought
//	err = f.Close()
//
// # Guarantees
//
//   - A batch is on disk whole or not at all. A process that is killed at any moment loses
//     the batch that it was writing, and no more. Load gives the state after a batch, with
//     the version of that state, or an error.
//   - A file that is damaged, cut off, of another server, scope or format is never taken
//     for a good one. Damage behind the first whole state costs the batches from there on:
//     what is before it is an older state, with its own version, and just as true.
//   - What a file says of its own sizes is not believed: no more memory is asked for than
//     the file has bytes, and a few megabytes.
//   - One process at a time has a file; another one gets ErrLocked. The lock ends with the
//     process.
//   - Files have mode 0600, in a folder of mode 0700.
//   - A file grows to at most twice what a new one would have, and 4 MiB (see Worn); while it
//     is being rewritten both are there.
//
// A power failure may cost more batches than the last one: Append leaves it to the
// operating system when the bytes get to the disk. Rewrite and Close wait for it.
//
// # Format
//
// A file is a header and frames. The header names the format, the scope and a random
// identity. A frame is a length, a kind, a checksum and entries, compressed. Its checksum
// covers the header and the frame's number, too, so that a frame of another file, or from
// another place, is not one of this file. A whole list is a number of frames of which the
// last one says that it is complete; it is written to a new file, which then takes the
// place of the old one. Changes are appended, a frame for each batch.
//
// # Secrets
//
// With a key, frames are sealed with AES-256-GCM, under a key that is derived for each file,
// and bound to the file's header and their number: frames cannot be read, changed,
// swapped, or moved from one file to another. Sealed frames are not compressed, as sizes
// would tell of contents. Somebody who can write to the disk can still put back an older
// file as a whole, or cut off its end: that is an older state.
//
// This package knows neither servers nor informers. Package kinform has the option that
// uses it.
package snapshot
