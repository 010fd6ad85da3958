// Package spawn starts all operating system processes of the program.
//
//	s := spawn.New(spawn.Options{Environ: os.Environ()})
//	defer s.Close()
//	child, err := s.Spawn(ctx, steps.Command{Argv: []string{"vllm", "serve", model}, Stdout: log, Stderr: log})
//
// Each child leads its own process group. So a terminal's Ctrl-C reaches only this program, and a signal to the
// group reaches all that the child started. When the leader ends, the rest of its group gets the stop signal
// and is then killed. When this program is killed, Linux kills the leaders. [FindOrphans] finds the rest by the
// mark in their environment and resource limits, and by their parents.
//
// The environment is an allow-list (see [Policy]); no shell is involved.
//
// The package neither limits resources nor isolates. It does not stop processes that leave their group, but
// FindOrphans finds them.
package spawn
