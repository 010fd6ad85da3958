// Package transfer moves the KV of simulated servers between processes. A [Side] listens for peers,
// holds the KV that they will fetch, and requests KV from others. The two sides find each other by
// side channel, bootstrap server, metadata service or the request's id, as their connector does.
// They shake hands and send a small share of the bytes over a separate connection, in the time that
// the model of the link needs for all bytes. Wrong wiring fails.
//
// The package also replaces services that connectors need, such as etcd ([RunService]).
package transfer
