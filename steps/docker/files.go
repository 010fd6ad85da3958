package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"

	dc "github.com/ory/dockertest/v3/docker"
	"github.com/servegate/pipeline/steps"
)

// filesDir is the folder in a container with the files of its process. They are uploaded rather than mounted,
// because the daemon may be on another machine.
const filesDir = "/etc/pipeline"

// upload writes a process's files into its created, not yet started container.
func (l *Launcher) upload(ctx context.Context, id string, files []steps.File) error {
	if len(files) == 0 {
		return nil
	}
	tree, err := filesArchive(files)
	if err != nil {
		return fmt.Errorf("files of the container: %w", err)
	}
	if err := l.daemon.pool.Client.UploadToContainer(id, dc.UploadToContainerOptions{InputStream: tree, Path: "/", Context: ctx}); err != nil {
		return fmt.Errorf("writing files into the container: %w", err)
	}
	return nil
}

// filesArchive packs the folder and its files. Everyone may read them, because the container may run as any
// user.
func filesArchive(files []steps.File) (*bytes.Buffer, error) {
	dir := filesDir[1:] + "/"
	entries := []entry{{name: dir, mode: 0o755}}
	for _, f := range files {
		if err := steps.CheckFile(f); err != nil {
			return nil, err
		}
		entries = append(entries, entry{dir + f.Name, 0o644, f.Content})
	}
	return archive(entries)
}

// entry is an entry of an archive: a folder if its name ends in a slash.
type entry struct {
	name string
	mode int64
	data []byte
}

func archive(entries []entry) (*bytes.Buffer, error) {
	buf := new(bytes.Buffer)
	w := tar.NewWriter(buf)
	for _, e := range entries {
		if err := w.WriteHeader(&tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	return buf, w.Close()
}
