// Command pictures makes the pictures of comments and of the report anew, by Chromium: examples/github/*.png of the
// markdown and HTML beside them, which the tests TestComments and TestGithubReport hold to what the program writes. Each
// picture bears the digest of its page, by which TestPictures finds one that is out of date. Needs a font with emoji, such as
// the package fonts-noto-color-emoji of Debian.
package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/servegate/pipeline/internal/picture"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	shown, err := picture.All(".")
	if err != nil {
		return err
	}
	for _, s := range shown {
		if err := take(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s.PNG, err)
		}
		fmt.Println(s.PNG)
	}
	return nil
}

// take writes one picture.
func take(ctx context.Context, s picture.Shown) error {
	dir, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	page, shot := filepath.Join(dir, "page.html"), filepath.Join(dir, "shot.png")
	if err := os.WriteFile(page, s.Page, 0o600); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	out, err := exec.CommandContext(ctx, //nolint:gosec // the paths are ours
		"chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
		"--user-data-dir="+filepath.Join(dir, "profile"),
		fmt.Sprintf("--window-size=%d,%d", s.Width, s.Height), "--screenshot="+shot, "file://"+page).CombinedOutput()
	if err != nil {
		return fmt.Errorf("chromium: %w: %s", err, strings.TrimSpace(string(out)))
	}
	raw, err := os.ReadFile(shot)
	if err != nil {
		return fmt.Errorf("chromium wrote no picture: %w", err)
	}
	small, err := shrink(raw)
	if err != nil {
		return err
	}
	stamped, err := picture.Stamp(small, s.Page)
	if err != nil {
		return fmt.Errorf("marking the picture: %w", err)
	}
	return os.WriteFile(s.PNG, stamped, 0o644) //nolint:gosec,wrapcheck // a picture of the documents; the path is in the error
}

// shrink cuts the empty lines at the end of a picture and writes it as small as a PNG file can be, with a margin of 16 lines.
func shrink(raw []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading the picture: %w", err)
	}
	b := from.Bounds()
	end := b.Max.Y
	for end > b.Min.Y && plain(from, end-1) {
		end--
	}
	cut := image.Rect(0, 0, b.Dx(), min(end+16, b.Max.Y))
	to := image.NewNRGBA(cut)
	draw.Draw(to, cut, from, b.Min, draw.Src)
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, to); err != nil {
		return nil, fmt.Errorf("writing the picture: %w", err)
	}
	return out.Bytes(), nil
}

// plain reports whether every pixel of a line has the background colour, which the first pixel of the last line shows.
func plain(p image.Image, y int) bool {
	b := p.Bounds()
	want := color.NRGBAModel.Convert(p.At(b.Min.X, b.Max.Y-1))
	for x := b.Min.X; x < b.Max.X; x++ {
		if color.NRGBAModel.Convert(p.At(x, y)) != want {
			return false
		}
	}
	return true
}
