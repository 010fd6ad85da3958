// Package docker runs servers as containers of a Docker daemon, with dockertest.
//
//	l, err := docker.New(docker.Options{Host: docker.HostFromEnv(os.Getenv), RunID: id, Deadline: end})
//	p, err := eng.Render(spec, spec.ListenHost(), port)
//	p.Container = spec.NewContainer()
//	server, err := l.Start(ctx, p, logFile)
//	...
//	err = server.Stop(ctx) // the stop signal, the grace period, the kill; then it removes the container
//
// Every container has the run's ID and a deadline as labels, so [Cleanup] finds what a killed program left
// behind. An image is given by name or digest, or is the simulator's ([SimulatorImage]).
//
// dockertest v3.12.0 provides the client and the connection. Its RunWithOptions is not used, because it takes
// no context and sets SIGWINCH as the stop signal. Its create request lacks device requests and the runtime, so
// this package makes that request itself.
//
// The package knows no engine. It does not check readiness or wait for GPU memory. It reaches a daemon over ssh
// only through a socket that ssh forwards ([OpenTunnel]).
package docker
