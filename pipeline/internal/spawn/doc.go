// Package spawn is the one place of the program that starts operating system processes.
//
//	s := spawn.New(spawn.Options{Environ: os.Environ()})
//	defer s.Close()
//	child, err := s.Spawn(ctx, steps.Command{Argv: []string{"vllm", "serve", model}, Stdout: log, Stderr: log})
//
// Each child leads a process group of its own, so that the Ctrl-C of a terminal reaches
// only us and a signal to the group reaches all that the child has started. When the
// leader ends, what is left of its group is asked to end and then killed. When this
// program is killed, Linux kills the leaders; [FindOrphans] finds the rest by the mark in their
// environment, by the groups that the program has recorded, and by their parents.
//
// The environment is an allow-list (see [Policy]); no shell is ever involved.
//
// It does not limit resources, does not isolate, and follows no process that leaves its
// group on purpose, though FindOrphans finds those too.
package spawn
