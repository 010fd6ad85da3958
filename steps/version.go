package steps

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// tagVersion matches the tags of the projects' images: v0.11.0, v0.5.5-cu129, v0.6.4.post1, and with the number of a
// build server-b10434, server-cuda-b10434.
var tagVersion = lazyregexp.New(`^(?:v?([0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.]*)(?:-.*)?|(?:[a-z0-9-]+-)?(b[0-9]{3,6}))$`)

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

// IsRelease reports whether text begins with the numbers of a release: 0.11, v0.6.4.post1, 0.20.1rc0+cpu; or is the
// number of a build, b10434, by which llama.cpp is released.
func IsRelease(text string) bool { return releaseNumbers(text) != "" }

// CompareReleases compares two releases by their numbers. It ignores suffixes ("rc1", "post1", "+cpu"), and
// sorts texts without numbers first.
func CompareReleases(a, b string) int {
	a, b = releaseNumbers(a), releaseNumbers(b)
	for a != "" || b != "" {
		var m, n int
		m, a = nextNumber(a)
		n, b = nextNumber(b)
		if m != n {
			return cmp.Compare(m, n)
		}
	}
	return 0
}

// digitsOfNumber is the most digits that a number of a release has.
const digitsOfNumber = 6

// releaseNumbers returns the leading numbers of a release, separated by dots, or "". It is written by hand because
// the flags of an engine are looked up by comparing its releases, many times in each start of the program.
func releaseNumbers(text string) string {
	if build, ok := strings.CutPrefix(text, "b"); ok {
		if n := leadingDigits(build); n >= 3 && n == len(build) {
			return build
		}
		return ""
	}
	text = strings.TrimPrefix(text, "v")
	end := leadingDigits(text)
	for numbers := 1; ; numbers++ {
		if end == 0 || end == len(text) || text[end] != '.' || leadingDigits(text[end+1:]) == 0 {
			if numbers < 2 {
				return ""
			}
			return text[:end]
		}
		end += 1 + leadingDigits(text[end+1:])
	}
}

// leadingDigits returns how many digits text begins with, at most digitsOfNumber.
func leadingDigits(text string) int {
	n := 0
	for n < len(text) && n < digitsOfNumber && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// nextNumber returns the first of numbers separated by dots, 0 if there is none, and those after it.
func nextNumber(numbers string) (first int, rest string) {
	text, rest, _ := strings.Cut(numbers, ".")
	first, _ = strconv.Atoi(text)
	return first, rest
}
