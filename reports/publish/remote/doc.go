// Package remote sends requests to a service on which verdicts are published. A task has a budget of
// time: its requests, their retries and the waits between them never take longer, by an injected clock.
// The token is only sent to the host of the API. What may have been done although no answer came is
// looked for before it is done again.
package remote
