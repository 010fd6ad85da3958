package simulate

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The engines that can be simulated.
const (
	engineVLLM   = "vllm"
	engineSGLang = "sglang"
)

//go:embed flags/*.txt
var flagFiles embed.FS

// flagTable holds the flags of one version of one engine.
type flagTable struct {
	engine, version string
	flags           map[string]flagDef // by every name
}

type flagDef struct {
	name string // the first name, with dashes
	// kind as the tables in flags/ say it.
	kind    string
	choices []string
}

// FlagVersions lists the versions of an engine whose flags are known, oldest first.
func FlagVersions(engine string) []string {
	entries, err := flagFiles.ReadDir("flags")
	if err != nil {
		return nil
	}
	var versions []string
	for _, e := range entries {
		name, _ := strings.CutSuffix(e.Name(), ".txt")
		if v, ok := strings.CutPrefix(name, engine+"-"); ok {
			versions = append(versions, v)
		}
	}
	slices.SortFunc(versions, compareVersions)
	return versions
}

// loadFlags reads the table of the newest known version that is not newer than version,
// or the oldest one.
func loadFlags(engine, version string) (*flagTable, error) {
	versions := FlagVersions(engine)
	if len(versions) == 0 {
		return nil, fmt.Errorf("engine %q cannot be simulated; use vllm or sglang", engine)
	}
	best := versions[0]
	for _, v := range versions {
		if version == "" || compareVersions(v, version) <= 0 {
			best = v
		}
	}
	text, err := flagFiles.ReadFile("flags/" + engine + "-" + best + ".txt")
	if err != nil {
		return nil, fmt.Errorf("flags of %s %s: %w", engine, best, err)
	}
	t := &flagTable{engine: engine, version: best, flags: make(map[string]flagDef)}
	for line := range strings.Lines(string(text)) {
		t.addLine(strings.TrimSpace(line))
	}
	return t, nil
}

func (t *flagTable) addLine(line string) {
	if line == "" || strings.HasPrefix(line, "#") {
		return
	}
	fields := strings.SplitN(line, " ", 3)
	names := strings.Split(fields[0], ",")
	def := flagDef{name: names[0], kind: fields[1]}
	if def.kind == "choice" {
		def.choices = strings.Split(fields[2], "|")
	}
	for _, n := range names {
		t.flags[n] = def
		if bare, ok := strings.CutPrefix(n, "--"); ok && def.kind == "bool" {
			t.flags["--no-"+bare] = flagDef{name: def.name, kind: "no"}
		}
	}
}

// compareVersions compares dotted versions by their numbers; what follows a number
// ("rc1", "post1", "+cpu") does not count.
func compareVersions(a, b string) int {
	as, bs := versionNumbers(a), versionNumbers(b)
	return slices.Compare(as, bs)
}

func versionNumbers(v string) []int {
	var out []int
	for part := range strings.SplitSeq(strings.TrimPrefix(v, "v"), ".") {
		end := 0
		for end < len(part) && part[end] >= '0' && part[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(part[:end])
		if err != nil {
			break
		}
		out = append(out, n)
		if end < len(part) {
			break
		}
	}
	for len(out) < 3 {
		out = append(out, 0)
	}
	return out
}
