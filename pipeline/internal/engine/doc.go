// Package engine executes a plan: first the steps, then the launches with their runs. It writes a journal from which a
// killed run resumes.
//
//	m, err := engine.Start(ctx, engine.Options{Plan: p, Store: dir, Bus: bus, Target: resolve})
//	m.Prepare()
//	for m.Measure() {
//		m.Take(judge.TakeLook(p, m.Outcome().Document(), opt))
//	}
//	outcome, err := m.End()
//	doc := outcome.Document()
//
// A failure of a server is an outcome, not an error: a launch that fails or a server that dies leaves failed runs with
// the reason, and the gates decide what they mean. A failure of the machine or the client (a full disk, both sides of a
// comparison that fail, a process that cannot be stopped) ends the run as an infrastructure failure.
//
// An [Outcome] is the sum of the events of its run, so that a run and the replay of its journal have the same.
//
// The unit of resume is a planned launch: when all its measurements are in the journal, a launch_done event closes it.
// A launch that is not closed is measured again as a whole.
//
// A table of watchers defines what is watched during a run: see [Watcher].
//
// The package does not judge (see package judge), does not know any engine or launcher, and reads no HCL: [Options]
// provides everything.
package engine
