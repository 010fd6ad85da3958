// Package history stores the results of earlier sessions: an append-only store of immutable
// records, one file each, in a directory or on an orphan branch of a git repository.
//
// A record holds a session's cells with their metrics, a calibration's noise, or an annotation of
// other records: a change is accepted, a session does not count. Nothing is rewritten, so writers
// on many machines lose no data, and the basis of a verdict can be looked up.
//
//	store, err := history.Open(ctx, "git:origin#pipeline-history", history.Options{Spawner: sp})
//	h, err := history.Load(ctx, store)
//	window := h.Window(history.Query{Cell: hash, Metric: "ttft.p99", Branch: "main", Machine: facts, Sessions: 10})
//
// Only sessions with equal fingerprints are compared: the hard facts of the machine, the model, and
// whether and how it was simulated. A truncated or altered record is quarantined and reported,
// never ignored.
//
// Out of scope: the checksum detects damage; it is not a signature. Write access to the directory
// or the branch decides who may write.
package history
