package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/servegate/pipeline/steps/stamp"
)

const (
	pathCompletions = "/v1/completions"
	pathChat        = "/v1/chat/completions"
	pathGenerate    = "/generate"
)

// Headers of the router's answers.
const (
	headerPrefill = "X-Router-Prefill"
	headerDecode  = "X-Router-Decode"
	headerFailed  = "X-Router-Failed"
)

// exchange holds the state of one request of a client.
type exchange struct {
	r     *Router
	w     http.ResponseWriter
	req   *http.Request
	path  string
	start time.Time

	// ctx ends the requests to both servers. Its cause is a *failure if one half failed before the client got
	// the first byte of the other.
	ctx    context.Context
	cancel context.CancelCauseFunc

	id              string
	body            []byte
	held            int64 // bytes of body and of prefill's answer that count in Router.held
	object          object
	prefill, decode *member

	prefillBody, decodeBody []byte
	prefillRank             string // of a data-parallel prefill server
	stamp                   string // of the model's time, for a simulated server; "" for none

	// chunks records the delay of each chunk; nil if it is not measured.
	chunks *histogram
	// halves counts the users of ctx and the body.
	halves atomic.Int32

	mu        sync.Mutex
	committed bool // the first byte was sent to the client
}

// generate handles a request that generates tokens.
func (r *Router) generate(w http.ResponseWriter, req *http.Request) {
	defer r.enter()()
	x := &exchange{r: r, w: w, req: req, path: req.URL.Path, start: time.Now(), chunks: &r.stats.chunk}
	if r.simulated && req.Header.Get(stamp.Header) == "" {
		x.stamp = stamp.Format(stamp.Now())
	}
	r.stats.begin()
	x.ctx, x.cancel = context.WithCancelCause(r.life)
	stop := context.AfterFunc(req.Context(), func() { x.cancel(errClientGone) })
	limit := time.AfterFunc(r.timeouts.Request, func() { x.cancel(errTimeout) })
	// A client that does not read blocks a write, which a context cannot end.
	conn := http.NewResponseController(w)
	_ = conn.SetWriteDeadline(time.Now().Add(r.timeouts.Request))
	x.halves.Add(1)
	f := x.run()
	stop()
	limit.Stop()
	if f != nil {
		x.cancel(errPartner)
	}
	x.leave()
	_ = conn.SetWriteDeadline(time.Time{})
	x.finish(f)
}

// leave cancels ctx and releases the memory share of the bodies after their last use. Prefill may answer
// later than decode; the client does not wait for it.
func (x *exchange) leave() {
	if x.halves.Add(-1) == 0 {
		x.cancel(nil)
		x.r.held.Add(-x.held)
	}
}

// run processes the request.
func (x *exchange) run() *failure {
	if f := x.read(); f != nil {
		return f
	}
	p := x.r.protocol
	if p.pairs {
		var err error
		if x.object, err = parseObject(x.body); err != nil {
			return asFailure(err)
		}
	}
	x.prefill, x.decode = x.r.pair()
	x.id = x.req.Header.Get("X-Request-Id")
	if x.id == "" {
		x.id = x.r.uuid()
	}
	if !p.pairs {
		x.decodeBody = x.body
		x.dispatched()
		return x.relay(x.ask(x.decode, x.decodeBody))
	}
	if err := p.prepare(x.r, x); err != nil {
		return asFailure(err)
	}
	if p.concurrent {
		return x.both()
	}
	return x.inTurn()
}

// read reads the client's body.
func (x *exchange) read() *failure {
	var b bytes.Buffer
	if n := x.req.ContentLength; n > 0 {
		b.Grow(int(min(n, 1<<20)) + bytes.MinRead)
	}
	_, err := b.ReadFrom(held{x, http.MaxBytesReader(x.w, x.req.Body, x.r.maxBody)})
	if errors.Is(err, errOverloaded) {
		return x.overloaded()
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return &failure{class: classTooLarge, err: errors.New("the body is longer than " + strconv.FormatInt(x.r.maxBody, 10) + " bytes")}
	}
	if err != nil {
		x.cancel(errClientGone)
		return &failure{class: classBadRequest, err: errClientGone}
	}
	x.body = b.Bytes()
	return nil
}

var errOverloaded = errors.New("too many bytes in flight")

func (x *exchange) overloaded() *failure {
	return &failure{class: classOverloaded,
		err: fmt.Errorf("the bodies of the requests in flight and the answers of their prefill servers are together longer than %d bytes "+
			"(--max-bodies): send fewer requests at once, or start the router with a higher limit", x.r.maxBodies)}
}

// held reads a body and counts its bytes. Their sum over all requests in flight must be below the limit.
type held struct {
	x    *exchange
	from io.Reader
}

func (h held) Read(b []byte) (int, error) {
	n, err := h.from.Read(b)
	h.x.held += int64(n)
	if h.x.r.held.Add(int64(n)) > h.x.r.maxBodies {
		return n, errOverloaded
	}
	return n, err
}

// dispatched records the time at which the first byte is sent to a server.
func (x *exchange) dispatched() { x.r.stats.dispatch.observe(time.Since(x.start)) }

// inTurn waits for prefill before it sends the request to decode.
func (x *exchange) inTurn() *failure {
	x.dispatched()
	answer, f := x.runPrefill()
	if f != nil {
		return f
	}
	received := time.Now()
	if err := x.r.protocol.handover(x.r, x, answer); err != nil {
		return asFailure(err)
	}
	x.r.stats.handover.observe(time.Since(received))
	return x.relay(x.ask(x.decode, x.decodeBody))
}

// both sends the request to prefill and decode at once. If one fails before the client has got a byte, both
// cancels the other.
func (x *exchange) both() *failure {
	x.dispatched()
	x.halves.Add(1)
	x.r.spawn(func() {
		defer x.leave()
		_, f := x.runPrefill()
		if f != nil && !x.prefillFailed(f) && x.ctx.Err() == nil {
			// Decode is already answering, so it has its input. Count the failure and continue the client's
			// answer.
			x.r.stats.fail(f)
		}
	})
	return x.relay(x.ask(x.decode, x.decodeBody))
}

// prefillFailed ends the request because of f, unless the client is already receiving its answer.
func (x *exchange) prefillFailed(f *failure) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.committed {
		x.cancel(f)
	}
	return !x.committed
}

// commit must be called before the first byte is sent to the client. It returns the failure that forbids
// sending.
func (x *exchange) commit() *failure {
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.cause(); f != nil {
		return f
	}
	x.committed = true
	return nil
}

// cause returns the failure of the other half, or nil.
func (x *exchange) cause() *failure {
	f, _ := errors.AsType[*failure](context.Cause(x.ctx))
	return f
}

// maxAnswer limits prefill's answer, in bytes. Block IDs of a long prompt take some kilobytes.
const maxAnswer = 16 << 20

// runPrefill returns prefill's whole answer.
func (x *exchange) runPrefill() ([]byte, *failure) {
	ctx, cancel := context.WithTimeoutCause(x.ctx, x.r.timeouts.Prefill, errTimeout)
	defer cancel()
	begin := time.Now()
	resp, err := x.post(ctx, x.prefill, x.prefillBody, x.prefillRank)
	if err != nil {
		return nil, exchangeError(ctx, x.prefill, err, classClosed)
	}
	answer, err := x.readAnswer(resp)
	switch {
	case errors.Is(err, errOverloaded):
		return nil, x.overloaded()
	case errors.Is(err, errTooLong):
		return nil, &failure{class: classBadAnswer, member: x.prefill, err: err}
	case err != nil:
		return nil, exchangeError(ctx, x.prefill, err, classCut)
	case resp.StatusCode/100 != 2:
		return nil, &failure{
			class: classStatus, member: x.prefill, err: errors.New("the answer is " + resp.Status),
			answer: &refusal{resp.StatusCode, resp.Header, answer},
		}
	}
	x.r.stats.prefill.observe(time.Since(begin))
	if at := resp.Header.Get(stamp.Header); at != "" && x.r.simulated && !x.r.protocol.concurrent {
		x.stamp = at // decode starts when prefill ends
	}
	return answer, nil
}

// readAnswer reads prefill's answer. It returns the bytes only if decode needs them or they explain a
// failure.
func (x *exchange) readAnswer(resp *http.Response) ([]byte, error) {
	if x.r.protocol.answer || resp.StatusCode/100 != 2 {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{held{x, resp.Body}, resp.Body}
		return readAll(resp)
	}
	defer resp.Body.Close() //nolint:errcheck // the error has no effect
	_, err := io.Copy(io.Discard, resp.Body)
	return nil, err
}

// post sends the request to a member.
func (x *exchange) post(ctx context.Context, m *member, body []byte, rank string) (*http.Response, error) {
	header := forwardHeader(x.req.Header, x.id)
	if m.role == rolePrefill {
		header.Del("Accept-Encoding") // the router must read the answer
	}
	if rank != "" {
		header.Set("X-Data-Parallel-Rank", rank)
	}
	if x.stamp != "" {
		header.Set(stamp.Header, x.stamp)
	}
	m.requests.Add(1)
	return x.r.send(ctx, m, http.MethodPost, x.path, x.req.URL.RawQuery, header, body)
}

// ask sends the request to the member that answers the client.
func (x *exchange) ask(m *member, body []byte) (*http.Response, *failure) {
	resp, err := x.post(x.ctx, m, body, "")
	if err == nil {
		return resp, nil
	}
	if f := x.cause(); f != nil {
		return nil, f
	}
	return nil, exchangeError(x.ctx, m, err, classClosed)
}

// finish counts the request and completes the client's answer.
func (x *exchange) finish(f *failure) {
	switch {
	case f == nil:
		x.r.stats.end(outcomeOK)
		return
	case errors.Is(context.Cause(x.ctx), errClientGone):
		x.r.stats.end(outcomeGone)
		panic(http.ErrAbortHandler) // otherwise the server would complete an empty answer
	case f.member == nil:
		x.r.stats.end(outcomeRefused)
	default:
		x.r.stats.end(outcomeFailed)
	}
	x.r.stats.fail(f)
	switch {
	case f.answered:
	case x.committed:
		// The client has received a part. Only an aborted connection shows that the answer is incomplete.
		panic(http.ErrAbortHandler)
	default:
		f.write(x.w)
	}
}
