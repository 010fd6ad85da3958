// Package argument holds the rules for the arguments of engines: how a file writes them, the
// lists of what each release takes, the one normal form in which two servers are compared, and
// which arguments change the work that a server does.
//
// It knows no engine by name, and reaches neither the network nor a process.
package argument
