package result

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// Decode reads a document from an untrusted source. It checks size, depth and lengths before
// parsing (see Limits; the error wraps ErrLimit), then the major version of the schema, rejects
// numbers that are not finite, and validates enumerations and references (see Validate). Unknown
// fields are ignored.
func Decode(r io.Reader, limits Limits) (*Document, error) {
	limits = limits.withDefaults()
	data, err := io.ReadAll(io.LimitReader(r, limits.Bytes+1))
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	if int64(len(data)) > limits.Bytes {
		return nil, fmt.Errorf("read result: more than %s: %w", size(limits.Bytes), errLarge)
	}
	if err := limits.check(data); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	var doc Document
	wrong := json.Unmarshal(data, &doc)
	if err := checkSchema(data, &doc, wrong); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	if wrong != nil {
		return nil, fmt.Errorf("read result: %w", wrong)
	}
	if err := Validate(&doc); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	return &doc, nil
}

// size formats a number of bytes for people.
func size(bytes int64) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// checkSchema checks the schema of the document that was decoded from data. If data could not be decoded, it reads only
// the schema, so that a document of another major version is distinguished from a broken one.
func checkSchema(data []byte, doc *Document, wrong error) error {
	head := struct {
		Schema string `json:"schema"`
	}{doc.Schema}
	if wrong != nil {
		head.Schema = ""
		if err := json.Unmarshal(data, &head); err != nil {
			return fmt.Errorf("not a result document: %w", err)
		}
	}
	name, version := path.Split(Schema)
	got, gotVersion := path.Split(head.Schema)
	if got != name {
		return fmt.Errorf("not a result document: its schema is %s, want %q: convert results of other tools with import",
			clip(head.Schema), Schema)
	}
	major, _, _ := strings.Cut(version, ".")
	gotMajor, minor, ok := strings.Cut(gotVersion, ".")
	if _, err := strconv.ParseUint(minor, 10, 32); !ok || err != nil {
		return fmt.Errorf("schema %s has no version like %q", clip(head.Schema), Schema)
	}
	if gotMajor != major {
		return fmt.Errorf("schema %s has major version %s, this program reads %s: use the program that wrote it", clip(head.Schema),
			clip(gotMajor), major)
	}
	return nil
}

// clip quotes untrusted text for an error message, cut to 60 bytes.
func clip(s string) string {
	const limit = 60
	if len(s) > limit {
		return strconv.QuoteToASCII(s[:limit]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
