// Package engine carries a plan out: steps, then launch after launch with its runs, with
// one journal from which a killed run goes on.
//
//	m, err := engine.Start(ctx, engine.Options{Plan: p, Store: dir, Bus: bus, Target: resolve, …})
//	m.Prepare()
//	for m.Measure() {
//		m.Take(judge.TakeLook(…)) // of m.Outcome()
//	}
//	outcome, err := m.End()
//	doc := engine.Document(p, outcome, engine.About{Tool: "pipeline 1.0", RunID: id})
//
// What a server does wrong is an outcome, not an error: a launch that fails and a server
// that dies leave failed runs with the reason, and the gates decide what they mean. What
// is wrong with the machine or the client (a full disk, both sides of a comparison that
// fail, a process that cannot be stopped) ends the run as an infrastructure failure.
//
// A planned launch is the unit of resume: when everything that it measured is in the
// journal, a launch_done event closes it. What is not closed is measured again as a whole.
//
// What is watched during a run is a table of watchers: see [Watcher]. The loop calls them and
// knows none of them.
//
// It does not judge (see package judge), does not know any engine or launcher, and reads
// no HCL: everything it needs is handed in with [Options].
package engine
