package steps

import (
	"fmt"
	"path"
	"regexp"
	"slices"

	"github.com/zclconf/go-cty/cty"
)

// Cache is what a server keeps from launch to launch, such as what it compiled: a folder of the machine or
// a volume of the daemon. It is no part of what a server is, so that sides with a cache each are no
// different servers for that.
type Cache struct {
	// Folder of the machine, meant from the pipeline file's folder, or Volume of the daemon.
	Folder, Volume string
	// Path that a container has it at, and Env the variable that names the folder to a process.
	Path, Env string
}

// Name is the folder or volume.
func (c Cache) Name() string {
	if c.Volume != "" {
		return "volume " + c.Volume
	}
	return c.Folder
}

// Use is what the server knows it by.
func (c Cache) Use() string { return c.Path + c.Env }

func cacheSchema() Schema {
	return Schema{Attrs: []Attr{
		{Name: "folder", Type: cty.String,
			Doc: "Folder of this machine that is kept, meant from the pipeline file's folder and made when missing. " +
				"Either folder or volume is set."},
		{Name: "volume", Type: cty.String, Rule: Matching(volumeName.String(), "is not the name of a volume",
			"Folders of the machine belong into folder."),
			Doc: "Volume of the daemon that is kept, for a server with an image. What it holds is not looked at."},
		{Name: "path", Type: cty.String, Doc: "Where the container of a server with an image has it, such as /root/.cache/vllm."},
		{Name: "env", Type: cty.String, Rule: Matching(variableName.String(), "is not the name of a variable", ""),
			Doc: "Variable by which a server that is an executable is told the folder, such as VLLM_CACHE_ROOT."},
	}}
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ReadCache reads a cache block.
func ReadCache(o Object) Cache {
	return Cache{Folder: o.Text("folder"), Volume: o.Text("volume"), Path: o.Text("path"), Env: o.Text("env")}
}

// checkCaches finds what is wrong with the cache blocks of a server.
func checkCaches(o Object) []Problem {
	var found []Problem
	var uses []string
	for i, b := range o.Blocks["cache"] {
		c := ReadCache(b)
		summary, detail := checkCache(o, b, c)
		if summary == "" && c.Use() != "" && slices.Contains(uses, c.Use()) {
			summary, detail = fmt.Sprintf("two caches are at %s", c.Use()), "Remove one of them."
		}
		if summary != "" {
			found = append(found, Problem{Path: []string{"cache"}, Block: i, Summary: summary, Detail: detail})
		}
		uses = append(uses, c.Use())
	}
	return found
}

// checkCache says what is wrong with a cache block of a server, "" for nothing.
func checkCache(server, b Object, c Cache) (summary, detail string) {
	image := server.Has("image")
	switch {
	case server.Has("url"):
		return "cache has no effect on a server that already runs",
			"The server at url was started elsewhere, with caches of its own. Remove the block."
	case b.Has("folder") == b.Has("volume"):
		return "a cache is either a folder or a volume",
			`Say what is kept: folder = "caches/compile" of this machine, or volume = "compile" of the Docker daemon.`
	case !image && b.Has("volume"):
		return "a volume needs a server with an image", `An executable has no volumes. Write folder, and env = "VLLM_CACHE_ROOT" or so.`
	case image && !b.Has("path"):
		return "the cache of a container has no path", `Say where the container has it: path = "/root/.cache/vllm" or so.`
	case b.Known("path") && (!path.IsAbs(c.Path) || path.Clean(c.Path) == "/"):
		return fmt.Sprintf("%q is no place for a cache", c.Path), "Write an absolute path of the container."
	case !image && !b.Has("env"):
		return "the cache of an executable has no variable", `Say by which variable the server is told the folder: env = "VLLM_CACHE_ROOT" or so.`
	case image && b.Has("env"), !image && b.Has("path"):
		return "a cache has either path or env", "A container has the cache at path, and an executable is told its folder by env."
	}
	return "", ""
}
