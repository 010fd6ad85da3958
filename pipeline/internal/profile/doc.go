// Package profile reads the files of server profilers, and finds the operations whose time differs between two
// sides.
//
// [Summary.ReadTrace] reads a trace in Chrome's format, as torch's profiler writes it, of any size in bounded
// memory. [Compare] compares two summaries by time per unit of work.
package profile
