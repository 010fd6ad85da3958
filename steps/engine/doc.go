// Package engine holds what the engines have in common: a small HTTP client, the way to
// readiness, the flattening of what a server says about itself, and the tables of known
// failures. Their arguments are in package argument.
//
// An engine is built from the parts:
//
//	argv, err := argument.Flags(spec.Args, argument.FlagStyle{Reserved: map[string]string{"port": "set port"}})
//	state, ready, err := engine.Poll(ctx, client, ep, engine.Checks{Health: "/health"})
//	class, evidence := engine.Classify(rules, logTail)
//
// It keeps no state: each poll finds out anew how far the server is. It starts nothing
// and knows no engine by name.
package engine
