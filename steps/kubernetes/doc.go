// Package kubernetes runs servers as Pods in one namespace of a cluster.
//
//	run, err := kubernetes.New(kubernetes.Options{Spec: spec, RunID: id, Version: version})
//	err = run.Open(ctx, wants) // rights, the Job that owns all, the nodes
//	l := run.Launcher(0)       // servers on the first node
//	server, err := l.Start(ctx, p, logFile)
//	…
//	err = server.Stop(ctx) // the Pod is deleted, and the wait until it is gone
//	sp := run.Tasks(1)     // programs of ours on the second node, with a folder and signals
//	err = run.Close(ctx)
//
// Nothing outlives the run. All that it makes is owned by one Job, whose Pod, the keeper, ends
// when the run has not shown a sign of life for a few minutes: the cluster then removes the Job and
// all that it owns, also after a kill -9. A server is one Pod; of a server on several nodes
// each rank is one. There is no LeaderWorkerSet and no Deployment: they start anew what ends, and
// a server that ended has to stay so to be seen.
//
// Nodes are chosen once, by a Pod for each that looks at its machine, and every later Pod is bound
// to one of them: all sides of a comparison are on the same machines. What takes a place away (an
// image that cannot be pulled, no room, memory, eviction, a lost node, an API server that is away for
// long) is a [steps.EvictionError] with the cluster's own words.
//
// It needs rights in one namespace, which [Rights] lists. It knows no engine.
package kubernetes
