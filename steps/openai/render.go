package openai

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// Placeholders in executable and env for the launcher's choices.
const (
	hostWord  = "{host}"
	portWord  = "{port}"
	modelWord = "{model}"
)

// Render returns the process of a program that the file names: its words, then the arguments as
// flags. {host}, {port} and {model} in the words are replaced. If no word contains {port}, --host
// and --port are added.
//
// The words come from executable, or from the container's entrypoint. An image without one gets the
// flags after its own entrypoint.
func (openai) Render(spec steps.ServerSpec, host string, port steps.Port) (steps.Process, error) {
	if err := engine.Startable(spec); err != nil {
		return steps.Process{}, err
	}
	program := spec.Program()
	if len(program) == 0 && spec.Image == "" {
		return steps.Process{}, fmt.Errorf("%s: neither executable, image nor url is set; name the program, or the address of one that runs",
			spec.Addr)
	}
	flags, err := argument.Flags(spec.Args, style())
	if err != nil {
		return steps.Process{}, fmt.Errorf("%s: %w", spec.Addr, err)
	}
	fill := strings.NewReplacer(hostWord, host, portWord, port.String(), modelWord, spec.Model)
	argv := make([]string, 0, len(program)+len(flags)+4)
	placed := false
	for _, word := range program {
		placed = placed || strings.Contains(word, portWord)
		argv = append(argv, fill.Replace(word))
	}
	if !placed {
		argv = append(argv, "--host", host, "--port", port.String())
	}
	p := engine.Process(spec, append(argv, flags...), spec.Env, host, port)
	if p.Container != nil {
		p.Container.OwnEntrypoint = len(program) == 0
	}
	return p, nil
}

func style() argument.FlagStyle {
	return argument.FlagStyle{
		Reserved: map[string]string{
			"host":    "write {host} in executable or entrypoint, or leave it out",
			"port":    "write {port} in executable or entrypoint, or leave it out",
			"api_key": "set it in env: arguments are visible in process lists and reports",
		},
	}
}
