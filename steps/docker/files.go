package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"

	"github.com/servegate/pipeline/steps"
)

// filesDir is where a container finds the files of its process. They are uploaded, not
// mounted: the daemon may be on another machine.
const filesDir = "/etc/pipeline"

// withFiles is the environment of a process with the paths of its files.
func withFiles(p steps.Process) []steps.EnvVar {
	vars := slices.Clone(p.Env)
	for _, f := range p.Files {
		vars = slices.DeleteFunc(vars, func(e steps.EnvVar) bool { return e.Name == f.EnvVar })
		if f.EnvVar != "" {
			vars = append(vars, steps.EnvVar{Name: f.EnvVar, Value: path.Join(filesDir, f.Name)})
		}
	}
	return vars
}

// upload writes a process's files into its container, which is made and not started.
func (l *Launcher) upload(ctx context.Context, id string, files []steps.File) error {
	if len(files) == 0 {
		return nil
	}
	archive, err := filesArchive(files)
	if err != nil {
		return fmt.Errorf("files of the container: %w", err)
	}
	resp, err := l.daemon.call(ctx, http.MethodPut, "/containers/"+id+"/archive", url.Values{"path": {"/"}}, "application/x-tar", archive)
	if err != nil {
		return fmt.Errorf("writing files into the container: %w", err)
	}
	return resp.Body.Close()
}

// filesArchive has the folder and its files. Its users may be any, so all may read them.
func filesArchive(files []steps.File) (*bytes.Buffer, error) {
	buf := new(bytes.Buffer)
	w := tar.NewWriter(buf)
	dir := filesDir[1:] + "/"
	if err := w.WriteHeader(&tar.Header{Name: dir, Mode: 0o755, Typeflag: tar.TypeDir}); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := steps.CheckFile(f); err != nil {
			return nil, err
		}
		if err := w.WriteHeader(&tar.Header{Name: dir + f.Name, Mode: 0o644, Size: int64(len(f.Content)), Typeflag: tar.TypeReg}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Content); err != nil {
			return nil, err
		}
	}
	return buf, w.Close()
}
