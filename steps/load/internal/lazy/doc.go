// Package lazy reads many TCP streams with few wake-ups: connections are taken out of the
// runtime's poller, and those that may wait are looked at together, at most a window after
// the first of them has data. With the kernel's receive stamps a late read is no late time,
// so the window costs nothing but that two pieces of one stream within it share a stamp.
//
//	p, err := lazy.New(time.Millisecond)
//	conn, err := p.Adopt(tcp)
//	… // write the request, read the first token
//	conn.Relax(true)
//
// A connection is used by one goroutine at a time, but for SetDeadline and Close.
package lazy
