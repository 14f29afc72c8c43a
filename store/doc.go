// Package store keeps runs in Redis: their manifests, the ledger of finished
// cells, the values, and the small notes that schedulers and workers leave for
// each other. It is the only package that talks to Redis on its own account.
//
// # Truth
//
// The ledger is what counts. A cell is finished when its bit is set, and its
// bit is set by the same script that writes its values and its CRC, so no
// moment exists in which one is there without the others. Every script makes
// all its checks before its first write, because Redis does not undo the
// writes of a script that fails half way.
//
// # Fencing
//
// All keys of a run carry its name and its epoch, 64 random bits drawn when
// the run was started from nothing. Deleting a run removes its manifest first,
// and every script that writes refuses to run without the manifest, so a
// worker that comes back late finds nothing to write to.
//
// # Repetition
//
// Every call may be repeated. The client repeats a command by itself when the
// connection fails before the answer is read, so each of them is written to do
// nothing the second time: a commit compares what it finds, creating a run
// recognises its own epoch, and a changed plan recognises its own revision.
//
// Errors that callers branch on are those of package jobs, and [UnfitError]
// and [UnreachableError] from [Open].
//
// Package store imports engine and jobs. The packages that use it declare what they
// need of it.
package store
