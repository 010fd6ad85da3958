// Package picture makes the pictures of the documents: pages of comments as GitHub shows them, and the mark in a PNG file
// that says which page it shows, so that a test without a browser finds a picture that is out of date.
package picture

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

var (
	//go:embed github.css
	css string
)

// Comment returns a page of 840 pixels with a comment in GitHub's markdown, as GitHub shows it in its light theme.
func Comment(markdown string) ([]byte, error) {
	var body bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := md.Convert([]byte(markdown), &body); err != nil {
		return nil, fmt.Errorf("rendering the comment: %w", err)
	}
	return fmt.Appendf(nil, "<!doctype html>\n<meta charset=\"utf-8\">\n<style>\n%s</style>\n<div class=\"frame\"><p class=\"author\">"+
		"<b>github-actions</b> <i>bot</i> commented</p>\n<div class=\"body\">\n%s</div></div>\n", css, body.Bytes()), nil
}

// key is the keyword of the text chunk of a PNG file that holds the digest of its page.
const key = "Source"

const signature = "\x89PNG\r\n\x1a\n"

// ErrNotPNG is returned for a file that is not a whole PNG file.
var ErrNotPNG = errors.New("not a PNG file")

// Digest returns the digest of a page, as it is written into its picture.
func Digest(page []byte) string {
	sum := sha256.Sum256(page)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Stamp returns a PNG file with the digest of the page that it shows.
func Stamp(png, page []byte) ([]byte, error) {
	first, err := chunkEnd(png, len(signature))
	if err != nil {
		return nil, err
	}
	data := []byte("tEXt" + key + "\x00" + Digest(page))
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(data)-len("tEXt"))) //nolint:gosec // a digest's length
	chunk = append(chunk, data...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(data))
	return append(append(bytes.Clone(png[:first]), chunk...), png[first:]...), nil
}

// Shows returns the digest of the page that a PNG file shows, "" if it has none.
func Shows(png []byte) (string, error) {
	for at := len(signature); at < len(png); {
		end, err := chunkEnd(png, at)
		if err != nil {
			return "", err
		}
		if digest, ok := bytes.CutPrefix(png[at+4:end-4], []byte("tEXt"+key+"\x00")); ok {
			return string(digest), nil
		}
		at = end
	}
	return "", nil
}

// chunkEnd returns where the chunk at an offset of a PNG file ends.
func chunkEnd(png []byte, at int) (int, error) {
	if !bytes.HasPrefix(png, []byte(signature)) || len(png) < at+12 {
		return 0, ErrNotPNG
	}
	end := at + 12 + int(binary.BigEndian.Uint32(png[at:]))
	if end > len(png) {
		return 0, ErrNotPNG
	}
	return end, nil
}
