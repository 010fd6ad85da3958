// Command image writes a container image of one static program to standard output, as an
// archive that `ctr images import` and `docker load` read:
//
//	image NAME:TAG PROGRAM [WORD...] >image.tar
//
// The program and these words are the entry point of the image. The program lies at its root, beside an empty /tmp.
package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: image NAME:TAG PROGRAM [WORD...] >image.tar")
		os.Exit(64)
	}
	if err := write(os.Stdout, os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func write(w io.Writer, name, program string, words []string) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	entry := "/" + filepath.Base(program)
	layer, err := archive(
		file{name: "tmp/", mode: 0o1777},
		file{name: entry[1:], mode: 0o755, content: content},
	)
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": append([]string{entry}, words...), "Env": []string{"PATH=/"}, "WorkingDir": "/"},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer)}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]any{map[string]any{
		"Config":   digest(config) + ".json",
		"RepoTags": []string{name},
		"Layers":   []string{"layer.tar"},
	}})
	if err != nil {
		return err
	}
	image, err := archive(
		file{name: digest(config) + ".json", mode: 0o644, content: config},
		file{name: "layer.tar", mode: 0o644, content: layer},
		file{name: "manifest.json", mode: 0o644, content: manifest},
	)
	if err != nil {
		return err
	}
	_, err = w.Write(image)
	return err
}

// file is an entry of an archive; a name that ends in a slash is a folder's.
type file struct {
	name    string
	mode    int64
	content []byte
}

// archive has no times and no owners: the same program makes the same image.
func archive(files ...file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content))}
		if f.name[len(f.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
