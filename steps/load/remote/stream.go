package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
	"github.com/servegate/pipeline/steps/load"
)

// Streams starts the process of a run where no folder is shared. Its child passes SIGKILL on; other signals go by
// the input.
type Streams interface {
	// Stream starts a command with an input. ctx bounds the start only.
	Stream(ctx context.Context, argv []string, in io.Reader, out, log io.Writer) (steps.Child, error)
}

// streamHead is the first line of the input. The dataset follows, and then names of signals, one per line.
type streamHead struct {
	Order   json.RawMessage   `json:"order"`
	Headers map[string]string `json:"headers,omitempty"`
	// Dataset is the size of the dataset in bytes, nil if the run reads no file.
	Dataset *int64 `json:"dataset,omitempty"`
}

// datasetFile is the name of the dataset in the folder of the process.
const datasetFile = "dataset"

// streamed is the input of a process, and the process as a child that gets its signals by the input.
type streamed struct {
	steps.Child
	feed *io.PipeWriter
	sent chan struct{} // closed when the order is
}

// startStreamed starts a process and sends it the order.
func (g Generator) startStreamed(ctx context.Context, o *streamOrder, out, log io.Writer) (steps.Child, error) {
	in, feed := io.Pipe()
	s := &streamed{feed: feed, sent: make(chan struct{})}
	child, err := g.Streams.Stream(ctx, g.Argv, in, out, log)
	if err != nil {
		return nil, err
	}
	s.Child = child
	go func() { // ends with the process, which closes the input
		defer close(s.sent)
		_ = o.send(s.feed) // an incomplete order ends the process
	}()
	go func() {
		<-s.Done()
		_ = in.CloseWithError(io.ErrClosedPipe)
	}()
	return s, nil
}

// streamOrder is the order of a run as its process gets it.
type streamOrder struct {
	head    []byte
	dataset *os.File // nil if the run reads no file
}

func newStreamOrder(opt load.Options) (*streamOrder, error) {
	h, o := streamHead{Headers: opt.Headers}, &streamOrder{}
	if path := opt.Workload.Dataset.Path; path != "" {
		file, err := opt.Files.Open(path)
		if err != nil {
			return nil, &dataset.InvalidError{Reason: err.Error()}
		}
		o.dataset = file
		info, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, o.close())
		}
		h.Dataset, opt.Workload.Dataset.Path = new(info.Size()), datasetFile
	}
	opt.Files = nil // the process sets the folder
	var err error
	if h.Order, err = encodeOrder(opt); err == nil {
		o.head, err = json.Marshal(h)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("load: the order of a run: %w", err), o.close())
	}
	return o, nil
}

// send writes the order and the dataset.
func (o *streamOrder) send(to io.Writer) error {
	_, err := to.Write(append(o.head, '\n'))
	if err == nil && o.dataset != nil {
		_, err = io.Copy(to, o.dataset)
	}
	return err
}

// close closes the dataset.
func (o *streamOrder) close() error {
	if o.dataset == nil {
		return nil
	}
	return o.dataset.Close()
}

// Signal implements steps.Child. The process does not survive the end of its input, so a kill ends that as well.
func (s *streamed) Signal(name string) error {
	if steps.Ended(s.Done()) {
		return nil
	}
	if name == "KILL" {
		return errors.Join(s.Child.Signal(name), s.feed.Close())
	}
	select { // behind the order, of which it would be a part
	case <-s.sent:
	case <-s.Done():
		return nil
	}
	if _, err := fmt.Fprintln(s.feed, name); err != nil && !steps.Ended(s.Done()) {
		return err
	}
	return nil
}

// receive reads an order from the input, and its dataset into folder.
func receive(in *bufio.Reader, folder string) (load.Options, error) {
	var head streamHead
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &head)
	}
	if err != nil {
		return load.Options{}, fmt.Errorf("the order of a run cannot be read: %w", err)
	}
	opt, err := parseOrder(head.Order)
	if err != nil {
		return load.Options{}, err
	}
	opt.Headers, opt.Files = head.Headers, &dataset.Files{Dir: folder}
	if head.Dataset == nil {
		return opt, nil
	}
	file, err := os.OpenFile(filepath.Join(folder, datasetFile), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err == nil {
		_, err = io.CopyN(file, in, *head.Dataset)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return load.Options{}, fmt.Errorf("the dataset of a run: %w", err)
	}
	return opt, nil
}

// errNoInput reports that the other side is gone.
var errNoInput = errors.New("the input has ended: the other side is gone")

// passSignals reads names of signals until the input ends, which stops the run.
func passSignals(in *bufio.Reader, begin func(), stop func(error)) {
	for {
		line, err := in.ReadString('\n')
		switch name := strings.TrimSpace(line); {
		case err != nil:
			stop(errNoInput)
			return
		case name == "USR1":
			begin()
		case name != "":
			stop(errors.New("stopped by SIG" + name))
		}
	}
}
