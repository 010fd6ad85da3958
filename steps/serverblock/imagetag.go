package serverblock

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// CheckTag warns of an image whose name moves on: without a tag or digest, or with the tag latest. path names the
// argument.
func CheckTag(image string, path ...string) []steps.Problem {
	name := image[strings.LastIndexByte(image, '/')+1:] // a registry has a port
	_, tag, tagged := strings.Cut(name, ":")
	if image == "" || strings.Contains(image, "@") || strings.HasPrefix(image, "sha256:") || tagged && tag != "latest" {
		return nil
	}
	summary := fmt.Sprintf("image %q has neither a tag nor a digest", image)
	if tagged {
		summary = fmt.Sprintf("image %q moves on", image)
	}
	return []steps.Problem{{
		Path: path, Warning: true, Summary: summary,
		Detail: "It names the latest image on the day of the run, which changes under a baseline. Name a version, for example " +
			strings.TrimSuffix(image, ":latest") + ":v0.11.0, or a digest.",
	}}
}
