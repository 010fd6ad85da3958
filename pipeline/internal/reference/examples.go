package reference

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Examples holds a line of a file for each argument, by the path of its block, with kinds and without: "server.vllm.container shm_size".
type Examples map[string]string

// longest is the length of the longest example in bytes: the cell of a table holds one line.
const longest = 80

// FindExamples returns the shortest example of each argument in the pipeline files of a tree. Of equally short ones it takes the first
// by the name of the file.
func FindExamples(tree fs.FS) (Examples, error) {
	found := Examples{}
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".pipeline.hcl") {
			return err
		}
		source, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		file, diags := hclsyntax.ParseConfig(source, path, hcl.InitialPos)
		if diags.HasErrors() {
			return fmt.Errorf("%s: %w", path, diags)
		}
		found.body(nil, file.Body.(*hclsyntax.Body), source)
		return nil
	})
	return found, err
}

// body adds the arguments of a body and of its blocks.
func (e Examples) body(parents []string, body *hclsyntax.Body, source []byte) {
	for _, a := range body.Attributes {
		text := string(bytes.TrimSpace(a.SrcRange.SliceBytes(source)))
		name, value, _ := strings.Cut(text, "=")
		text = strings.TrimSpace(name) + " = " + strings.TrimSpace(value) // without the spaces that align it
		key := exampleKey(parents, a.Name)
		old, ok := e[key]
		if len(text) <= longest && !strings.Contains(text, "\n") && (!ok || len(text) < len(old)) {
			e[key] = text
		}
	}
	for _, b := range body.Blocks {
		path := append(slices.Clone(parents), b.Type)
		if len(b.Labels) > 0 {
			e.body(append(slices.Clone(parents), b.Type+"."+b.Labels[0]), b.Body, source) // as a block of this kind
		}
		e.body(path, b.Body, source)
	}
}

// of returns an example of an argument in a block: of its kind, else of another kind, else of this type of block at another place.
func (e Examples) of(types []string, name string) string {
	var anyKind []string
	for _, t := range types {
		typ, _, _ := strings.Cut(t, ".")
		anyKind = append(anyKind, typ)
	}
	for i := range types {
		for _, path := range [][]string{types[i:], anyKind[i:]} {
			if text, ok := e[exampleKey(path, name)]; ok {
				return text
			}
		}
	}
	return ""
}

func exampleKey(parents []string, name string) string { return strings.Join(parents, ".") + " " + name }
