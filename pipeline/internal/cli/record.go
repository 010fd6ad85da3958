package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/recorder"
	"github.com/spf13/cobra"
)

// headerName matches a valid header name (RFC 9110).
var headerName = lazyregexp.New("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

type recordFlags struct {
	target, listen, out string
	recorder.Options
}

// recordCommand runs a proxy before a server and writes a trace of the requests.
func (a *app) recordCommand() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record --target URL --out FILE",
		Short: "Record a trace of what a server is asked, without texts",
		Long: "Stands between clients and a server, passes everything through as it is, and writes a line for each call when it has\n" +
			"ended: when it began and how long it took, the lengths of prompt and answer, hashes of the prompt's blocks by a key\n" +
			"that is kept nowhere, and which call it continues. dataset \"trace\" replays the file.\n\n" +
			"Lengths are those of the answer's usage, or else counted by the server's /tokenize, which names the blocks as\n" +
			"well. A call is part of the session that the client's header names, or else of that of the call that its prompt\n" +
			"continues. Ctrl-C lets what is in flight end within the grace, and writes it.",
		Example: "  pipeline record --target http://127.0.0.1:8000 --listen 127.0.0.1:8100 --out trace.jsonl",
		Args:    cobra.NoArgs,
		RunE:    interruptible(func(ctx context.Context, _ []string) error { return a.record(ctx, f) }),
	}
	fl := cmd.Flags()
	fl.StringVar(&f.target, "target", "", "`URL` of the server")
	fl.StringVar(&f.listen, "listen", "127.0.0.1:8100", "`address` to listen on; port 0 takes a free one")
	fl.StringVar(&f.out, "out", "", "`file` to write, which must not exist")
	fl.StringVar(&f.SessionHeader, "session-header", "X-Session-Id", "`header` by which clients name their session")
	fl.IntVar(&f.BlockSize, "block-size", 16, "`tokens` of a block")
	fl.DurationVar(&f.Grace, "grace", 30*time.Second, "time for answers in flight when the recording ends")
	return cmd
}

func (f *recordFlags) check() error {
	u, err := url.Parse(f.target)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("--target must be the URL of a server, such as http://127.0.0.1:8000")
	case f.out == "":
		return errors.New("--out is missing: name the file to write")
	case f.BlockSize < 1 || f.BlockSize > 4096:
		return errors.New("--block-size must be from 1 to 4096")
	case f.Grace < 0:
		return errors.New("--grace must not be negative")
	case f.SessionHeader != "" && !headerName.MatchString(f.SessionHeader):
		return fmt.Errorf("--session-header %q must be the name of a header, such as X-Session-Id", f.SessionHeader)
	}
	if _, port, err := net.SplitHostPort(f.listen); err != nil || port == "" {
		return fmt.Errorf("--listen %q must be an address and a port, such as 127.0.0.1:8100", f.listen)
	} else if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("--listen %s: port %q must be a number below 65536", f.listen, port)
	}
	f.Target = u
	return nil
}

func (a *app) record(ctx context.Context, f recordFlags) (err error) {
	if err := f.check(); err != nil {
		return exit(exitUsage, err)
	}
	// Listen first: if it fails, no file blocks the next attempt.
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", f.listen)
	if err != nil {
		return exit(exitInfrastructure, fmt.Errorf("cannot listen; choose another --listen address: %w", err))
	}
	defer func() { _ = l.Close() }()
	if leadsBack(f.Target, l.Addr()) {
		return exit(exitUsage, fmt.Errorf("--target %s is where the recording listens; name the server's own address", f.target))
	}
	out, err := os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return exit(exitUsage, fmt.Errorf("%s exists; name another file, so that no recording is lost", f.out))
	}
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	defer func() {
		if closed := errors.Join(out.Sync(), out.Close()); closed != nil && err == nil {
			err = exit(exitInfrastructure, closed)
		}
	}()
	f.Out = &wholeLines{file: out}
	f.Failed = func(err error) {
		fmt.Fprintf(a.Err, "%v; calls are passed on, and no longer recorded\n", err)
	}
	fmt.Fprintf(a.Err, "http://%s records what it passes on to %s into %s; Ctrl-C ends it\n", l.Addr(), f.Target.Redacted(), f.out)
	s, err := recorder.New(f.Options).Serve(ctx, l)
	fmt.Fprintf(a.Err, "%d calls of %d sessions recorded\n", s.Calls, s.Sessions)
	for _, cause := range slices.Sorted(maps.Keys(s.LeftOut)) {
		fmt.Fprintf(a.Err, "left out %d: %s\n", s.LeftOut[cause], cause)
	}
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	return nil
}

// leadsBack reports whether requests to server would reach the listener itself.
func leadsBack(server *url.URL, listener net.Addr) bool {
	port := server.Port()
	if port == "" {
		port = server.Scheme
	}
	to, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(server.Hostname(), port))
	at, ok := listener.(*net.TCPAddr)
	if err != nil || !ok || to.Port != at.Port {
		return false
	}
	return to.IP.Equal(at.IP) || at.IP.IsUnspecified() && to.IP.IsLoopback()
}

// wholeLines writes lines to a file. It truncates a line that was not written completely, so that the lines before it
// stay readable.
type wholeLines struct {
	file *os.File
	size int64
}

func (w *wholeLines) Write(line []byte) (int, error) {
	n, err := w.file.Write(line)
	if err != nil {
		return 0, errors.Join(err, w.takeBack())
	}
	w.size += int64(n)
	return n, nil
}

func (w *wholeLines) takeBack() error { return w.file.Truncate(w.size) }
