// Package kubernetes runs servers as Pods in one namespace of a cluster.
//
//	run, err := kubernetes.New(kubernetes.Options{Spec: spec, RunID: id, Version: version})
//	err = run.Open(ctx, wants) // rights, the Job that owns all objects, the nodes
//	l := run.Launcher(0)       // servers on the first node
//	server, err := l.Start(ctx, p, logFile)
//	// use server.BaseURL()
//	err = server.Stop(ctx) // deletes the Pod and waits until it is gone
//	sp := run.Tasks(1)     // commands of this program on the second node, with a folder and signals
//	err = run.Close(ctx)
//
// All objects of a run are deleted with it. One Job owns them. The Job's Pod, the keeper, ends
// when it has received no heartbeat for a few minutes; the cluster then deletes the Job and its
// objects, also after a kill -9. A server is one Pod; a server on several nodes has a Pod for each
// rank. The package does not use LeaderWorkerSets or Deployments: they restart Pods, and would hide
// that a server has ended.
//
// Nodes are chosen once, by a Pod for each that inspects its machine. Every later Pod is bound to
// one of them, so that all sides of a comparison run on the same machines. The loss of a place (an
// image that cannot be pulled, no room, memory, eviction, a lost node, a long outage of the API
// server) is reported as a [steps.EvictionError] with the cluster's message.
//
// It needs the rights in one namespace that [Rights] lists. It does not depend on the engine.
package kubernetes
