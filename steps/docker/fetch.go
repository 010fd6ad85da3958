package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	dc "github.com/ory/dockertest/v3/docker"
	"github.com/servegate/pipeline/steps"
)

// Fetch copies the files of a folder in the running container to a folder of this machine. It copies rather
// than mounts, because the daemon may be on another machine.
func (s *Server) Fetch(ctx context.Context, dir, into string) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.launcher.daemon.pool.Client.DownloadFromContainer(s.id, dc.DownloadFromContainerOptions{Path: dir,
			OutputStream: w, Context: ctx})
		done <- err
		_ = w.CloseWithError(err) // never fails
	}()
	err := extract(r, into)
	_ = r.CloseWithError(err) // ends the download if writing fails
	if err := errors.Join(err, <-done); err != nil {
		return fmt.Errorf("copying %s out of the container: %w", dir, err)
	}
	return nil
}

// extract writes the regular files of an archive into one folder, without their paths. Names come from the
// container; none may escape the folder.
func extract(r io.Reader, into string) error {
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := path.Base(path.Clean("/" + h.Name))
		if err := steps.CheckFile(steps.File{Name: name}); err != nil || strings.HasPrefix(name, ".") {
			continue
		}
		f, err := os.OpenFile(filepath.Join(into, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, archive)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}
