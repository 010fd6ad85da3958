// Package doctor finds what a machine lacks to run a pipeline, and how to fix it.
//
//	needs := doctor.NeedsOf(cfg, nil)
//	facts := doctor.Gather(ctx, needs, doctor.Options{Spawner: spawner, Daemon: dockerhost.Inspect(os.Getenv), Out: "."})
//	for _, c := range doctor.Examine(needs, facts) {
//		fmt.Println(c.Status, c.Name, c.Found, c.Fix)
//	}
//
// The needs of a file ([Needs]) and the state of the machine ([Facts]) are data, which [Examine] compares.
// Before every run, [Preflight] compares them as well; a missing item ends the run before it spends GPU hours
// ([Missing]).
//
// It starts no server and changes nothing.
package doctor
