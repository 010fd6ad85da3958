// Package stamp reads from TCP connections together with the time at which the kernel
// received the bytes, where it says so.
package stamp
