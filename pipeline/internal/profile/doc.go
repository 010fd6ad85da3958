// Package profile reads what profilers of servers leave, and finds the operations whose time
// differs between two sides.
//
// [Summary.ReadTrace] reads a trace in Chrome's format as torch's profiler writes it, of any
// size in bounded memory. [Compare] sets two summaries against each other, by the time per token.
package profile
