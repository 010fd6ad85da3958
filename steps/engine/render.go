package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// Startable returns an error if a spec cannot be rendered as a process or a container.
func Startable(spec steps.ServerSpec) error {
	if spec.URL != "" {
		return fmt.Errorf("%s: the server at url already runs and is not started", spec.Addr)
	}
	for _, v := range []struct{ name, value string }{{"model", spec.Model}, {"served_name", spec.ServedName}} {
		if strings.HasPrefix(v.value, "-") {
			return fmt.Errorf("%s: %s %q begins with a dash and would be read as a flag", spec.Addr, v.name, v.value)
		}
	}
	return nil
}

// Program returns the words that start a server: those of its spec, standard if there are none. A Python interpreter gets
// the words module behind it, and the program itself the word "serve".
func Program(spec steps.ServerSpec, program string, standard []string, module ...string) []string {
	argv := slices.Clone(spec.Program())
	if len(argv) == 0 {
		argv = slices.Clone(standard)
	}
	last := path.Base(argv[len(argv)-1])
	switch {
	case len(argv) == 1 && strings.HasPrefix(last, "python"):
		return append(append(argv, "-m"), module...)
	case last == program:
		return append(argv, "serve")
	}
	return argv
}

// DefaultEnv adds the variables that env does not set. It puts them first, so that the order of env
// is kept.
func DefaultEnv(env []steps.EnvVar, defaults ...steps.EnvVar) []steps.EnvVar {
	set := func(d steps.EnvVar) bool { _, ok := steps.Getenv(env, d.Name); return ok }
	return append(slices.DeleteFunc(slices.Clone(defaults), set), env...)
}

// Process fills in what all engines share, including the container of a server with an image. argv
// is the whole command line in either case.
func Process(spec steps.ServerSpec, argv []string, env []steps.EnvVar, host string, port steps.Port) steps.Process {
	grace := spec.StopGrace
	if grace <= 0 {
		grace = steps.DefaultStopGrace
	}
	return steps.Process{
		Name: spec.Addr, Argv: slices.Concat(spec.Under, argv), Apart: len(spec.Under) > 0, Env: env, Dir: spec.Dir,
		Host: host, Port: port.Number(),
		StopSignal: "TERM", StopGrace: grace,
		Container: spec.NewContainer(),
	}
}
