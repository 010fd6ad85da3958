package kv

// Tells says whether a line of a server's log says anything of its transfers, so that
// whoever gathers [Evidence] need not keep whole logs. gpus is how many GPUs the server
// has, 0 if not known.
func Tells(line string, gpus int) bool { return readLine(line, gpus).kind != noSignal }
