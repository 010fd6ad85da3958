// Package engine holds what the engines share: a small HTTP client, polling until ready, flattening
// of a server's self-description, and tables of known failures. Package argument has their
// arguments.
//
// An engine consists of such parts:
//
//	argv, err := argument.Flags(spec.Args, argument.FlagStyle{Reserved: map[string]string{"port": "set port"}})
//	state, ready, err := engine.Poll(ctx, client, ep, engine.Checks{Health: "/health"})
//	class, evidence := engine.Classify(rules, logTail)
//
// It keeps no state: each poll determines the state of the server again. It starts nothing and does
// not know engines by name.
package engine
