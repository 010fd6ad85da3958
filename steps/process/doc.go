// Package process runs servers as processes of this machine.
//
//	l := process.New(spawner, process.Options{})
//	port, release, err := new(process.Ports).TakeRow("127.0.0.1", 1, 1)
//	p, err := eng.Render(spec, "127.0.0.1", port)
//	server, err := l.Start(ctx, p, logFile)
//	...
//	err = server.Stop(ctx)
//	release()
//
// [Attached] represents a server that already answers at an address.
//
// The package knows no engine and does not check readiness. It neither chooses GPUs nor restarts servers.
package process
