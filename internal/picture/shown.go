package picture

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Shown is a picture of a page.
type Shown struct {
	// PNG is the path of the picture.
	PNG string
	// Page is the HTML that it shows, in a window of Width × Height pixels.
	Page          []byte
	Width, Height int
}

// All returns the pictures of the documents of the repository at root: each comment of examples/github/comments, and
// the first screen of the report beside them.
func All(root string) ([]Shown, error) {
	folder := filepath.Join(root, "examples", "github")
	report, err := os.ReadFile(filepath.Join(folder, "report.html"))
	if err != nil {
		return nil, fmt.Errorf("reading the report: %w", err)
	}
	shown := []Shown{{PNG: filepath.Join(folder, "report.png"), Page: report, Width: 1280, Height: 800}}
	comments, err := filepath.Glob(filepath.Join(folder, "comments", "*.md"))
	if err != nil {
		return nil, fmt.Errorf("looking for comments: %w", err)
	}
	for _, path := range comments {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading a comment: %w", err)
		}
		page, err := Comment(string(text))
		if err != nil {
			return nil, err
		}
		shown = append(shown, Shown{PNG: strings.TrimSuffix(path, ".md") + ".png", Page: page, Width: 840, Height: 2000})
	}
	return shown, nil
}
