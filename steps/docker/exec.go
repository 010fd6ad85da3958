package docker

import (
	"bytes"
	"context"
	"fmt"

	dc "github.com/ory/dockertest/v3/docker"
	"github.com/servegate/pipeline/steps"
)

// Exit statuses for a program that the container lacks, as in a shell.
const (
	exitNoProgram = 126
	exitNotFound  = 127
)

// Exec runs a program in the container, with the container's environment.
func (s *Server) Exec(ctx context.Context, argv []string) (stdout, stderr string, err error) {
	client := s.launcher.daemon.pool.Client
	made, err := client.CreateExec(dc.CreateExecOptions{Container: s.id, Cmd: argv, AttachStdout: true, AttachStderr: true, Context: ctx})
	if err != nil {
		return "", "", fmt.Errorf("running %s in the container: %w", argv[0], err)
	}
	var out, said bytes.Buffer
	if err := client.StartExec(made.ID, dc.StartExecOptions{OutputStream: &out, ErrorStream: &said, Context: ctx}); err != nil {
		return "", "", fmt.Errorf("running %s in the container: %w", argv[0], err)
	}
	ended, err := client.InspectExec(made.ID)
	switch {
	case err != nil:
		return out.String(), said.String(), fmt.Errorf("running %s in the container: %w", argv[0], err)
	case ended.ExitCode == exitNoProgram || ended.ExitCode == exitNotFound:
		return out.String(), said.String(), fmt.Errorf("%w: %s is not in the container", steps.ErrNotStarted, argv[0])
	case ended.ExitCode != 0:
		return out.String(), said.String(), fmt.Errorf("exit status %d", ended.ExitCode)
	}
	return out.String(), said.String(), nil
}
