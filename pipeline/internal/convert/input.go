package convert

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The first bytes of compressed files.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	// The message names these formats, so that the file does not seem damaged.
	otherMagic = map[string]string{"\xfd7zXZ\x00": "xz", "BZh": "bzip2", string(zstdMagic): "zstd"}
	zipMagic   = []byte("PK\x03\x04")
	tarMagic   = []byte("ustar") // at tarMagicAt
)

const tarMagicAt = 257

// unpackFolder is the advice for a file that is an archive.
const unpackFolder = "unpack it, and import the folder"

// opened returns the text of a file: unpacked, in UTF-8, and without the lines of a container log
// around it. It also returns the name without the suffix of compression, and the reader that limits
// the size.
func opened(in io.Reader, name string, size int64) (*bufio.Reader, string, *io.LimitedReader, error) {
	limit := &io.LimitedReader{R: in, N: size}
	r := bufio.NewReaderSize(limit, detectBytes)
	head, _ := r.Peek(8) // or less, at the end of the file
	if bytes.HasPrefix(head, zipMagic) {
		return nil, name, nil, fmt.Errorf("%s: %w: it is an archive of zip; %s", name, ErrNoResult, unpackFolder)
	}
	for magic, program := range otherMagic {
		if bytes.HasPrefix(head, []byte(magic)) {
			return nil, name, nil, fmt.Errorf("%s: %w: it is compressed with %s; unpack it: %s -dc FILE | pipeline import -", name,
				ErrNoResult, program, program)
		}
	}
	if bytes.HasPrefix(head, gzipMagic) {
		unpacked, err := gzip.NewReader(r)
		if err != nil {
			return nil, name, nil, fmt.Errorf("%s: %w", name, err)
		}
		limit = &io.LimitedReader{R: unpacked, N: size} // the limit applies to unpacked bytes
		r, name = bufio.NewReaderSize(limit, detectBytes), strings.TrimSuffix(name, ".gz")
	}
	if head, _ := r.Peek(tarMagicAt + len(tarMagic)); len(head) > tarMagicAt && bytes.Equal(head[tarMagicAt:], tarMagic) {
		return nil, name, nil, fmt.Errorf("%s: %w: it is an archive of tar; %s", name, ErrNoResult, unpackFolder)
	}
	r = decoded(r)
	if isDockerLog(r) {
		r = bufio.NewReaderSize(&dockerLog{r: r}, detectBytes)
	}
	return r, name, limit, nil
}

// dockerLine is a log line of Docker's json-file driver.
type dockerLine struct {
	Log    *string `json:"log"`
	Stream string  `json:"stream"`
	Time   string  `json:"time"`
}

// isDockerLog reports whether a text begins with a line of a container log.
func isDockerLog(r *bufio.Reader) bool {
	head, _ := r.Peek(detectBytes)
	line, _, _ := bytes.Cut(head, []byte("\n"))
	d, ok := dockerText(line)
	return ok && d.Stream != "" && d.Time != ""
}

func dockerText(line []byte) (dockerLine, bool) {
	var d dockerLine
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) || json.Unmarshal(line, &d) != nil {
		return d, false
	}
	return d, d.Log != nil
}

// dockerLog reads what a container wrote, without the JSON of the log. One line of the container
// may take several log lines.
type dockerLog struct {
	r    *bufio.Reader
	text []byte
	err  error
}

func (d *dockerLog) Read(p []byte) (int, error) {
	for len(d.text) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		var line []byte
		if line, d.err = d.r.ReadBytes('\n'); len(line) == 0 && d.err != nil {
			return 0, d.err
		}
		l, ok := dockerText(line)
		switch {
		case ok:
			d.text = []byte(*l.Log)
		case len(bytes.TrimSpace(line)) == 0:
			d.text = line
		case errors.Is(d.err, io.EOF): // the log was cut in this line
			return 0, io.ErrUnexpectedEOF
		default:
			d.text = line // from another program that writes to the same file
		}
	}
	n := copy(p, d.text)
	d.text = d.text[n:]
	return n, nil
}
