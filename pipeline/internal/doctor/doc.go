// Package doctor finds what a machine lacks to carry a pipeline out, and how to fix it.
//
//	needs := doctor.NeedsOf(cfg, nil)
//	facts := doctor.Gather(ctx, needs, doctor.Options{Spawner: spawner, Daemon: dockerhost.Inspect(os.Getenv), Out: "."})
//	for _, c := range doctor.Examine(needs, facts) {
//		fmt.Println(c.Status, c.Name, c.Found, c.Fix)
//	}
//
// What a file needs ([Needs]) and what the machine has ([Facts]) are data; [Examine] only
// compares them. The same examination goes before every run, where something missing ends
// the run before GPU hours are spent ([Missing]).
//
// It starts no server and changes nothing.
package doctor
