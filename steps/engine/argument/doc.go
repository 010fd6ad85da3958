// Package argument holds the rules for the arguments of engines: how a file writes them, the flags
// of each release, the normal form in which two servers are compared, and which arguments change
// the work of a server.
//
// It does not know engines by name, and uses neither network nor processes.
package argument
