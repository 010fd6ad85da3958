// Package protect keeps the secrets of this process from the programs that it starts.
//
// A program of the same user reads the environment and the memory of its parent in /proc.
// So this process is closed to others of its user, and the block of its environment that
// the kernel shows, which stays as it was at the start whatever a program unsets, is
// overwritten where it holds a secret.
//
// It does not help against programs that run as root or may trace any process: run servers
// of others as another user, or in containers.
package protect
