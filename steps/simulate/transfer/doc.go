// Package transfer moves the KV of simulated servers between processes. A [Side] listens for
// peers, holds what they will take and asks for what is held elsewhere: the two find each
// other by side channel, bootstrap server, metadata service or the request's id, as their
// connector does, shake hands, and send over a connection of their own a small share of the
// bytes, in the time that the model of the link gives all of them. What is wired wrongly fails.
//
// The services that connectors need, such as etcd, are played here as well ([RunService]).
package transfer
