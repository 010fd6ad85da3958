// Package wire reads and writes the HTTP bodies of simulated servers.
package wire
