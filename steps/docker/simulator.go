package docker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"

	dc "github.com/ory/dockertest/v3/docker"
)

// SimulatorProgram is the path of the program in the image of [SimulatorImage].
const SimulatorProgram = "/pipeline"

// simulatorRepository is the name of the images, without tags.
const simulatorRepository = "pipeline-simulator"

// SimulatorImage returns the name of an image that contains only the program at binaryPath, as
// [SimulatorProgram]. It builds the image from scratch, without a registry, and only once: the tag is the hash
// of the program.
//
// The program must be a static Linux one, as built by CGO_ENABLED=0 go build.
func SimulatorImage(ctx context.Context, host, binaryPath string) (ref string, err error) {
	program, err := os.ReadFile(binaryPath)
	if err != nil {
		return "", fmt.Errorf("simulator image: %w", err)
	}
	if err := checkStatic(program); err != nil {
		return "", fmt.Errorf("simulator image: %s %w", binaryPath, err)
	}
	d, err := connect(host)
	if err != nil {
		return "", err
	}
	if err := d.ping(ctx); err != nil {
		return "", err
	}
	sum := sha256.Sum256(program)
	hash := hex.EncodeToString(sum[:])
	ref = simulatorRepository + ":" + hash[:16]
	_, err = d.inspectImage(ctx, ref, ref)
	if err == nil {
		err = d.markUsed(ctx, ref)
	}
	if err == nil {
		return ref, nil
	}
	if status(err) != http.StatusNotFound {
		return "", fmt.Errorf("simulator image: %w", err)
	}
	files, err := simulatorContext(program)
	if err != nil {
		return "", fmt.Errorf("simulator image: %w", err)
	}
	err = d.pool.Client.BuildImage(dc.BuildImageOptions{
		Name: ref, Labels: map[string]string{LabelSimulator: hash}, RmTmpContainer: true, InputStream: files,
		OutputStream: io.Discard, Context: ctx,
	})
	if err != nil {
		return "", fmt.Errorf("simulator image: %w", err)
	}
	return ref, nil
}

// checkStatic fails if a program needs files that an empty image does not have.
func checkStatic(program []byte) error {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("is not a Linux program and cannot run in a container (%w); build it with GOOS=linux CGO_ENABLED=0", err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("is linked dynamically and cannot run in an empty image; build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// simulatorContext returns a build context with the program and its Dockerfile.
func simulatorContext(program []byte) (io.Reader, error) {
	dockerfile := fmt.Appendf(nil, "FROM scratch\nCOPY pipeline %[1]s\nENTRYPOINT [%[1]q]\n", SimulatorProgram)
	return archive([]entry{{"Dockerfile", 0o644, dockerfile}, {"pipeline", 0o755, program}})
}
