package load

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/record"
)

// send executes one request of the run: it gets a connection, waits until due, exchanges and classifies.
// release is closed at due; it is not needed if due is in the past. planned is -1 for a request without a
// schedule. send returns when the request ended. If ctx stops a request before its send, it leaves no record
// and ok is false.
func (r *runner) send(ctx context.Context, i int, planned time.Duration, due time.Time, release <-chan struct{}) (
	ended time.Duration, ok bool) {
	prompt, wire, err := r.next(i)
	begin := time.Now()
	var cn *conn
	reused := false
	if err == nil {
		cn, reused, err = r.client.pool.take(ctx)
	}
	sent := time.Now()
	switch {
	case release != nil && sent.Before(due):
		select {
		case <-release:
		case <-ctx.Done():
			if cn != nil {
				_ = cn.Close()
			}
			return 0, false
		}
		sent = time.Now()
	case !reused:
		// The connection was established after the request was due. The server or the network caused this, so
		// it is part of the latency (as in vLLM) and not of the client's lag.
		sent = later(due, begin)
	}
	a := &attempt{rec: newRequest(i, planned, prompt.Input, prompt.Output), lag: int64(sent.Sub(due))}
	if r.endpoint.pooled() {
		a.rec.WantTokens = 0
	}
	a.rec.Sent = r.model(int64(sent.Sub(r.t0)))
	a.rec.Asked, a.rec.Continues = r.work.sum(i), r.sessions.continues(i)
	if !prompt.Exact() {
		a.rec.PromptTokens = 0 // known only to the server
	}
	r.live.sent()
	if err != nil {
		r.fail(ctx, a, err)
	} else {
		r.perform(ctx, a, prompt, cn, reused, wire, sent)
	}
	if a.rec.Answer != nil {
		a.rec.Answer.Ask = asked(prompt)
	}
	r.live.done(a.rec.Failure != "")
	r.add(a)
	r.sessions.keep(i, a.said)
	return time.Duration(a.rec.Done), true
}

// next returns the prompt of request i and its bytes. A prompt that repeats answers is rendered now. The time for that
// counts as lag.
func (r *runner) next(i int) (p dataset.Prompt, wire []byte, err error) {
	if !r.sessions.continues(i) {
		return r.work.get(i)
	}
	p = r.sessions.src.Continue(i, r.work.seeds, r.sessions.answers(i))
	wire, err = r.work.encode(i, p)
	return p, wire, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func newRequest(i int, planned time.Duration, input, output int) record.Request {
	return record.Request{
		Index: i, Planned: int64(planned), Sent: -1, Headers: -1, Done: -1,
		PromptTokens: input, WantTokens: output, CachedTokens: -1,
	}
}

func (r *runner) model(at int64) int64 { return toModel(at, r.scale) }

// fail records a request that got no connection.
func (r *runner) fail(ctx context.Context, a *attempt, err error) {
	a.rec.Done = max(r.model(int64(time.Since(r.t0))), a.rec.Sent)
	a.rec.Failure, a.rec.Error, a.exhausted = record.FailConnect, clip(err.Error(), maxError), exhausted(err)
	if ctx.Err() != nil {
		a.rec.Failure, a.rec.Error = record.FailCancelled, "the run was stopped"
	}
}

// exhausted reports whether a connection failed because this machine ran out of file descriptors, ports or memory. The
// server is not the cause.
func exhausted(err error) bool {
	if err == nil {
		return false
	}
	lookup, byName := errors.AsType[*net.DNSError](err) // it holds its cause as text alone
	return slices.ContainsFunc([]error{
		syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM,
	}, func(of error) bool {
		return errors.Is(err, of) || byName && strings.HasSuffix(lookup.Err, ": "+of.Error())
	})
}

// perform exchanges one request and classifies it.
func (r *runner) perform(ctx context.Context, a *attempt, prompt dataset.Prompt, cn *conn, reused bool, wire []byte, sent time.Time) {
	var deadline time.Time
	if t := r.opt.Workload.RequestTimeout; t > 0 {
		deadline = sent.Add(r.wall(t))
	}
	var resp *response
	var err error
	again := cn.patience(reused)
	switch {
	case r.endpoint.pooled():
		out := &pooled{document: document{rec: &a.rec, scale: r.scale}, form: pooledForms[r.endpoint]}
		resp, a.rec.Resent, err = r.client.exchange(ctx, cn, again, wire, deadline, out)
		a.rec.Failure, a.rec.Error = out.classify(resp, err, ctx.Err() != nil)
	case r.opt.Workload.Answers != nil:
		resp, err = r.ask(ctx, a, prompt, cn, again, wire, deadline)
	default:
		out := &answer{newStream(r.endpoint, r.opt.Workload.IgnoreEOS, r.scale, &a.rec)}
		out.several = severalAnswers(r.opt.Workload.Body)
		out.onFirst, out.witness = r.live.first, r.opt.Witness
		out.keep = r.sessions != nil && dataset.RealAnswers(r.opt.Workload.Dataset)
		resp, a.rec.Resent, err = r.client.exchange(ctx, cn, again, wire, deadline, out)
		a.rec.Failure, a.rec.Error = out.classify(resp, out.end(err), ctx.Err() != nil)
		a.coalesced = out.coalesced
		if out.keep && a.rec.Failure == "" {
			a.said = out.message()
		}
	}
	a.exhausted = exhausted(err)
	a.rec.Status, a.rec.Done = resp.status, r.model(int64(time.Since(r.t0)))
	if err == nil {
		a.rec.Done = r.model(resp.last)
	}
}

// severalAnswers reports whether the fields of a body make a server count the tokens of several
// answers together.
func severalAnswers(body map[string]any) bool {
	if beam, _ := body["use_beam_search"].(bool); beam {
		return true
	}
	params, _ := body["sampling_params"].(map[string]any)
	_, has := params["n"]
	return has
}

// answer is a stream as a sink of an exchange.
type answer struct{ *stream }

func (a *answer) onHead(resp *response, at int64) {
	a.rec.Status, a.rec.Headers = resp.status, a.model(at)
}
