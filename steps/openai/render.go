package openai

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// The words of executable and the values of env that stand for what the launcher chose.
const (
	hostWord  = "{host}"
	portWord  = "{port}"
	modelWord = "{model}"
)

// Render returns the process of a program that the file names: its words, then the
// arguments as flags. {host}, {port} and {model} anywhere in the words are replaced;
// where no word has {port}, --host and --port are added.
func (openai) Render(spec steps.ServerSpec, host string, port int) (steps.Process, error) {
	if err := engine.Startable(spec); err != nil {
		return steps.Process{}, err
	}
	if len(spec.Executable) == 0 {
		return steps.Process{}, fmt.Errorf("%s: neither executable nor url is set; name the program, or the address of one that runs", spec.Addr)
	}
	flags, err := engine.Flags(spec.Args, style())
	if err != nil {
		return steps.Process{}, fmt.Errorf("%s: %w", spec.Addr, err)
	}
	fill := strings.NewReplacer(hostWord, host, portWord, strconv.Itoa(port), modelWord, spec.Model)
	argv := make([]string, 0, len(spec.Executable)+len(flags)+4)
	placed := false
	for _, word := range spec.Executable {
		placed = placed || strings.Contains(word, portWord)
		argv = append(argv, fill.Replace(word))
	}
	if !placed {
		argv = append(argv, "--host", host, "--port", strconv.Itoa(port))
	}
	return engine.Process(spec, append(argv, flags...), spec.Env, host, port), nil
}

func style() engine.FlagStyle {
	return engine.FlagStyle{
		Reserved: map[string]string{
			"host":    "write {host} in executable, or leave it out",
			"port":    "write {port} in executable, or leave it out",
			"api_key": "set it in env: arguments are visible in process lists and reports",
		},
	}
}
