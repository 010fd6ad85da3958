package serverblock

import (
	"fmt"
	"path"
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

func cacheSchema() steps.Schema {
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "folder", Type: cty.String,
			Doc: "Folder of this machine that is kept, meant from the pipeline file's folder and made when missing. " +
				"Either folder or volume is set."},
		{Name: "volume", Type: cty.String, Rule: steps.Matching(volumeName.String(), "is not the name of a volume",
			"Folders of the machine belong in folder."),
			Doc: "Volume of the daemon that is kept, for a server with an image. What it holds is not looked at."},
		{Name: "path", Type: cty.String, Doc: "Where the container of a server with an image has it, such as /root/.cache/vllm."},
		{Name: "env", Type: cty.String, Rule: steps.Matching(envName.String(), "is not the name of a variable", ""),
			Doc: "Variable by which a server that is an executable is told the folder, such as VLLM_CACHE_ROOT."},
	}}
}

// ReadCache reads a cache block.
func ReadCache(o steps.Object) steps.Cache {
	return steps.Cache{Folder: o.Text("folder"), Volume: o.Text("volume"), Path: o.Text("path"), Env: o.Text("env")}
}

// checkCaches finds what is wrong with the cache blocks of a server.
func checkCaches(o steps.Object) []steps.Problem {
	var found []steps.Problem
	var uses []string
	for i, b := range o.Blocks["cache"] {
		c := ReadCache(b)
		summary, detail := checkCache(o, b, c)
		if summary == "" && c.Use() != "" && slices.Contains(uses, c.Use()) {
			summary, detail = fmt.Sprintf("two caches are at %s", c.Use()), "Remove one of them."
		}
		if summary != "" {
			found = append(found, steps.Problem{Path: []string{"cache"}, Block: i, Summary: summary, Detail: detail})
		}
		uses = append(uses, c.Use())
	}
	return found
}

// checkCache says what is wrong with a cache block of a server, "" for nothing.
func checkCache(server, b steps.Object, c steps.Cache) (summary, detail string) {
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
		return fmt.Sprintf("%q is not a valid path for a cache", c.Path), "Write an absolute path of the container."
	case !image && !b.Has("env"):
		return "the cache of an executable has no variable", `Say by which variable the server is told the folder: env = "VLLM_CACHE_ROOT" or so.`
	case image && b.Has("env"), !image && b.Has("path"):
		return "a cache has either path or env", "A container has the cache at path, and an executable is told its folder by env."
	}
	return "", ""
}
