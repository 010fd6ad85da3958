// Package stamp reads from TCP connections, with the time at which the kernel received the bytes if available.
package stamp
