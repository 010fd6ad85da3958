package dockerhost

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/steps/docker"
)

// Inspect queries the environment's Docker daemon for the doctor.
func Inspect(getenv func(string) string) func(ctx context.Context, images []string) (doctor.Daemon, error) {
	return func(ctx context.Context, images []string) (doctor.Daemon, error) {
		host := docker.HostFromEnv(getenv)
		info, err := docker.Inspect(ctx, host)
		if err != nil {
			return doctor.Daemon{}, err
		}
		d := doctor.Daemon{Version: info.Version, RootDir: info.RootDir, Local: info.Local, NVIDIA: info.NVIDIA, Images: map[string]bool{}}
		for _, image := range images {
			if has, err := docker.HasImage(ctx, host, image); err == nil {
				d.Images[image] = has
			}
		}
		return d, nil
	}
}
