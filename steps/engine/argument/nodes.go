package argument

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/steps"
)

// HasNodes returns an error if the version certainly lacks the flag that spreads a server over
// nodes. The error lists the versions that have it.
func (l Lists) HasNodes(flag string) error {
	if !l.known.Own || len(l.known.Lookup(flag)) > 0 {
		return nil
	}
	having := "no known version has it"
	if versions := l.having(flag); versions != "" {
		having = versions + " it"
	}
	return fmt.Errorf("%s has no %s and cannot be spread over nodes: %s", l.who(), flag, having)
}

// CheckNodes finds arguments that a server on several nodes gets from its position. The caller has
// checked that the block describes such a server.
func (l Lists) CheckNodes(o steps.Object, byPlace ...string) []steps.Problem {
	var found []steps.Problem
	for name := range Args(o) {
		if slices.Contains(byPlace, l.Full(name)) || slices.Contains(byPlace, Canonical(name)) {
			found = append(found, steps.Problem{
				Path: []string{"args", name}, Summary: fmt.Sprintf("nodes sets %s for each process", name),
				Detail: "Remove the argument, or remove nodes and start the processes yourself.",
			})
		}
	}
	return found
}
