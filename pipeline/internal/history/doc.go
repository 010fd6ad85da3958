// Package history keeps what earlier sessions have measured: an append-only store of
// records, one immutable file each, in a directory or on an orphan branch of a git
// repository.
//
// A record is a session's cells with their metrics, a calibration's noise, or an annotation of
// other records: that a change is accepted, that a session does not count. Nothing is ever
// rewritten, so that writers on many machines lose nothing of each other and what a
// verdict rested on can be looked up.
//
//	store, err := history.Open(ctx, "git:origin#pipeline-history", history.Options{Spawner: sp})
//	h, err := history.Load(ctx, store)
//	window := h.Window(history.Query{Cell: hash, Metric: "ttft.p99", Branch: "main", Machine: facts, Sessions: 10})
//
// Only sessions of one fingerprint are set beside each other: the hard facts of the
// machine, the model, and whether and how it was simulated. A record that is truncated or
// altered is quarantined and named, and never read as less history.
//
// Out of scope: the checksum finds damage, it is no signature. Who may write is decided by
// who may write to the directory or the branch.
package history
