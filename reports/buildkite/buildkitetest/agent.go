// Package buildkitetest is the program of Buildkite's agent for tests: annotate and meta-data, as the agent's
// documentation (buildkite.com/docs/agent/cli) and its source (clicommand/annotate.go and meta_data_*.go of
// buildkite/agent) describe them, both read in November 2026: an annotation is identified by its context of at most 100
// characters and replaced by a later one, its body is limited to 1 MiB, bodies and values come from standard input, flags
// have defaults in the environment, and the meta-data of a build is shared by its jobs.
package buildkitetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/servegate/pipeline/reports/publish"
)

// Limits of the agent's API.
const (
	maxBody    = 1 << 20
	maxContext = 100
	maxValue   = 100 << 10
)

// defaults are the variables that change annotate and meta-data where a flag is not given.
var defaults = []string{"BUILDKITE_ANNOTATION_APPEND", "BUILDKITE_ANNOTATION_SCOPE", "BUILDKITE_METADATA_BUILD_ID"}

// Annotation is an annotation of the build.
type Annotation struct{ Context, Style, Body string }

// Agent is the agent of a build. Its methods are safe for concurrent use.
type Agent struct {
	mu          sync.Mutex
	annotations []Annotation
	data        map[string]string
	// Before is called before each call is carried out, without a lock.
	Before func(call string)
}

// New returns the agent of a build without annotations.
func New() *Agent { return &Agent{data: map[string]string{}} }

// Annotations returns the annotations of the build.
func (a *Agent) Annotations() []Annotation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.annotations)
}

// Exec runs a command of the agent: it is the Exec of a publish.Job.
func (a *Agent) Exec(ctx context.Context, p publish.Program) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if len(p.Argv) < 2 || p.Argv[0] != "buildkite-agent" || !slices.Contains(p.Inherit, "BUILDKITE_AGENT_ACCESS_TOKEN") {
		return "", fmt.Errorf("not a command of the agent with its token: %q", p.Argv)
	}
	for _, name := range defaults {
		if slices.ContainsFunc(p.Inherit, func(pattern string) bool {
			prefix, open := strings.CutSuffix(pattern, "*")
			return name == pattern || open && strings.HasPrefix(name, prefix)
		}) {
			return "", fmt.Errorf("the agent gets %s, which changes what the command does", name)
		}
	}
	args := p.Argv[1:]
	if a.Before != nil {
		a.Before(strings.Join(args, " "))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case args[0] == "annotate":
		return "", a.annotate(args[1:], p.Stdin)
	case slices.Equal(args, []string{"meta-data", "keys"}):
		return strings.Join(append(slices.Sorted(maps.Keys(a.data)), ""), "\n"), nil
	case len(args) == 3 && args[0] == "meta-data" && args[1] == "get":
		value, ok := a.data[args[2]]
		if !ok {
			return "", errors.New("exit status 1: failed to get meta-data: 404 Not Found")
		}
		return value, nil
	case len(args) == 3 && args[0] == "meta-data" && args[1] == "set":
		if strings.TrimSpace(p.Stdin) == "" || len(p.Stdin) > maxValue {
			return "", fmt.Errorf("exit status 1: a value of %d bytes", len(p.Stdin))
		}
		a.data[args[2]] = p.Stdin
		return "", nil
	}
	return "", fmt.Errorf("exit status 1: unknown command %q", args)
}

func (a *Agent) annotate(flags []string, body string) error {
	n := Annotation{Body: body}
	for i := 0; i+1 < len(flags); i += 2 {
		switch flags[i] {
		case "--context":
			n.Context = flags[i+1]
		case "--style":
			n.Style = flags[i+1]
		default:
			return fmt.Errorf("exit status 1: unknown flag %s", flags[i])
		}
	}
	switch {
	case len(flags)%2 != 0 || utf8.RuneCountInString(n.Context) > maxContext || len(body) > maxBody || body == "":
		return fmt.Errorf("exit status 1: refused: a context of %d and a body of %d bytes", len(n.Context), len(body))
	case !slices.Contains([]string{"success", "info", "warning", "error"}, n.Style):
		return fmt.Errorf("exit status 1: unknown style %q", n.Style)
	}
	i := slices.IndexFunc(a.annotations, func(o Annotation) bool { return o.Context == n.Context })
	if i < 0 {
		a.annotations = append(a.annotations, n)
	} else {
		a.annotations[i] = n
	}
	return nil
}
