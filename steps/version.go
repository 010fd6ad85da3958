package steps

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"
)

// tagVersion matches the tags of the projects' images: v0.11.0, v0.5.5-cu129, v0.6.4.post1, and with the number of a
// build server-b10434, server-cuda-b10434.
var tagVersion = regexp.MustCompile(`^(?:v?([0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.]*)(?:-.*)?|(?:[a-z0-9-]+-)?(b[0-9]{3,6}))$`)

// ImageVersion returns the engine's version from the name of an image: 0.11.0 for vllm/vllm-openai:v0.11.0,
// from any registry. It returns "" for other images, whose tags have unknown meaning, and for tags such as
// latest. own are the names of the engine's images, without registry and tag, as patterns of [path.Match].
func ImageVersion(image string, own []string) string {
	image, _, _ = strings.Cut(image, "@")
	name, tag, tagged := strings.Cut(path.Base(image), ":")
	isOwn := func(pattern string) bool { ok, err := path.Match(pattern, name); return ok && err == nil }
	if !tagged || !slices.ContainsFunc(own, isOwn) {
		return ""
	}
	m := tagVersion.FindStringSubmatch(tag)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// EngineVersion returns the version that a server's arguments are written for: the stated one, else the one
// in the name of its image, else "".
func (s ServerSpec) EngineVersion() string {
	if s.Version != "" {
		return s.Version
	}
	return ImageVersion(s.Image, s.OwnImages)
}

// releaseNumbers matches the leading numbers of a release: 0.11, v0.6.4.post1, 0.20.1rc0+cpu; or the number of a build,
// b10434, by which llama.cpp is released.
var releaseNumbers = regexp.MustCompile(`^(?:v?[0-9]{1,6}(\.[0-9]{1,6})+|b[0-9]{3,6}$)`)

// IsRelease reports whether text begins with the numbers of a release.
func IsRelease(text string) bool { return releaseNumbers.MatchString(text) }

// CompareReleases compares two releases by their numbers. It ignores suffixes ("rc1", "post1", "+cpu"), and
// sorts texts without numbers first.
func CompareReleases(a, b string) int { return releaseOf(a).Compare(releaseOf(b)) }

func releaseOf(text string) *version.Version {
	v, err := version.NewVersion(strings.TrimPrefix(releaseNumbers.FindString(text), "b"))
	if err != nil {
		return version.Must(version.NewVersion("0"))
	}
	return v
}
