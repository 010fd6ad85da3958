// Package recorder is a proxy between clients and a server that records a trace without texts, which dataset
// "trace" reads. For each call it stores the start, the duration, the lengths of prompt and answer, keyed
// hashes of the prompt's blocks, and the call that it continues. Each recording draws a new key and does not
// store it, so texts cannot be found by their hashes.
//
// Requests and responses pass unchanged, streams unbuffered. Measurements by pipeline do not use it.
package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Limits on the memory that clients can make the recorder use.
const (
	maxBody     = 64 << 20 // bytes of a request
	maxAnswer   = 8 << 20  // bytes of an answer's text to tokenize
	maxInFlight = 4096     // requests
	maxKept     = 1 << 30  // bytes of requests in flight
	maxHeader   = 64 << 10
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
)

// Options configure a recording.
type Options struct {
	// Target is the server's URL.
	Target *url.URL
	// SessionHeader is the header with the client's session name; "" for none.
	SessionHeader string
	// BlockSize is the number of tokens per block.
	BlockSize int
	// Grace is how long responses in flight may take after the recording ends.
	Grace time.Duration
	// Out receives the trace, a line per completed call. After an error nothing more is written.
	Out io.Writer
	// Failed, if set, is called with the first error of Out. Later calls pass unrecorded.
	Failed func(error)
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// Summary counts what was recorded.
type Summary struct {
	Calls, Sessions int
	// LeftOut counts calls that are not in the trace, by cause.
	LeftOut map[string]int
}

// Recorder is a proxy that records.
type Recorder struct {
	opt    Options
	proxy  *httputil.ReverseProxy
	places chan struct{}
	begin  time.Time
	client *http.Client

	most int64        // bytes in a request
	kept atomic.Int64 // bytes of requests in flight

	mu    sync.Mutex
	trace *trace
	err   error         // first write error
	last  chan struct{} // closed when the call that ended last is written
	over  bool          // no further call may begin
	ended sync.WaitGroup
}

// New returns a recorder.
func New(opt Options) *Recorder {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	transport := &http.Transport{
		DisableCompression: true, MaxIdleConnsPerHost: maxInFlight, IdleConnTimeout: idleTime,
		DialContext: (&net.Dialer{Timeout: headerTime}).DialContext,
	}
	r := &Recorder{
		opt: opt, most: maxBody, places: make(chan struct{}, maxInFlight), begin: opt.Now(), trace: newTrace(opt.BlockSize, opt.Out),
		client: &http.Client{Transport: transport, Timeout: time.Minute},
	}
	r.proxy = &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(opt.Target)
			p.Out.Header.Del("Accept-Encoding") // a compressed response cannot be parsed
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if a, ok := w.(*answer); ok {
				a.absent = "the server did not answer"
				if errors.Is(err, context.Canceled) {
					a.absent = "the client broke off before the answer began"
				}
			}
			http.Error(w, "pipeline record: the server behind does not answer: "+err.Error(), http.StatusBadGateway)
		},
	}
	return r
}

// Serve records requests on l until ctx is done. It then waits for responses in flight during the grace period,
// and writes them as well.
func (r *Recorder) Serve(ctx context.Context, l net.Listener) (Summary, error) {
	// Requests may outlive ctx.
	s := &http.Server{Handler: r, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.opt.Grace)
		defer cancel()
		if s.Shutdown(grace) != nil {
			err = s.Close() // closes the clients' connections, and so ends their requests
		}
	}
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.ended.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trace.summary, errors.Join(err, r.err)
}

// ServeHTTP forwards a request, and records calls of a model.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	form, known := forms[req.URL.Path]
	if !known || req.Method != http.MethodPost {
		r.proxy.ServeHTTP(w, req)
		return
	}
	began := r.opt.Now()
	size := req.ContentLength
	if size < 0 || size > r.most {
		size = r.most
	}
	release, ok := r.admit(size)
	if !ok {
		r.leaveOut("too many were in flight")
		http.Error(w, fmt.Sprintf("pipeline record: more than %d requests at once, or %d GiB of them", maxInFlight, maxKept>>30),
			http.StatusServiceUnavailable)
		return
	}
	defer r.ended.Done()
	c, err := readCall(w, req, form, r.most)
	if err != nil {
		release()
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			http.Error(w, fmt.Sprintf("pipeline record: the request has more than %d bytes", r.most), http.StatusRequestEntityTooLarge)
		}
		r.leaveOut("the request did not come whole")
		return
	}
	c.session = req.Header.Get(r.opt.SessionHeader)
	seen := &answer{ResponseWriter: w}
	// An aborted call is recorded as far as it came. The panic that reports it continues to the client's
	// connection.
	defer func() {
		c.began, c.took = began.Sub(r.begin), r.opt.Now().Sub(began)
		seen.ResponseWriter = nil
		r.record(context.WithoutCancel(req.Context()), c, seen, release)
	}()
	r.proxy.ServeHTTP(seen, req)
}

// admit reserves capacity for a request, if available. The caller must call ended.Done.
func (r *Recorder) admit(size int64) (release func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil, false
	}
	select {
	case r.places <- struct{}{}:
	default:
		return nil, false
	}
	release = func() {
		r.kept.Add(-size)
		<-r.places
	}
	if r.kept.Add(size) > maxKept {
		release()
		return nil, false
	}
	r.ended.Add(1)
	return release, true
}

// record writes a call into the trace once its lengths are known. It keeps the order in which calls ended, to
// find which call it continues. The client's response does not wait for that.
func (r *Recorder) record(ctx context.Context, c *call, seen *answer, release func()) {
	r.mu.Lock()
	before, written := r.last, make(chan struct{})
	r.last = written
	r.mu.Unlock()
	r.ended.Go(func() {
		defer release()
		defer close(written)
		cause := r.measure(ctx, c, seen)
		if before != nil {
			<-before
		}
		if cause != "" {
			r.leaveOut(cause)
			return
		}
		if !r.write(c) {
			r.leaveOut("the trace could not be written")
		}
	})
}

// write adds a call to the trace and reports whether it succeeded. After a failure it writes nothing more,
// because later calls may continue the missing one.
func (r *Recorder) write(c *call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return false
	}
	if err := r.trace.add(c); err != nil {
		r.err = fmt.Errorf("the trace cannot be written: %w", err)
		if r.opt.Failed != nil {
			r.opt.Failed(r.err)
		}
	}
	return r.err == nil
}

func (r *Recorder) leaveOut(cause string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.trace.summary.LeftOut == nil {
		r.trace.summary.LeftOut = map[string]int{}
	}
	r.trace.summary.LeftOut[cause]++
}
