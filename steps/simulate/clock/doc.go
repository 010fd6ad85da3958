// Package clock is the model's time as a running server sees it: a clock that runs faster than
// the wall, the stamps by which processes of a machine share it, and how late a server was.
package clock
