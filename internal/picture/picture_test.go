package picture_test

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/picture"
)

// TestStamp: a picture bears the digest of its page, and can still be read.
func TestStamp(t *testing.T) {
	var plain bytes.Buffer
	if err := png.Encode(&plain, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	if shows, err := picture.Shows(plain.Bytes()); shows != "" || err != nil {
		t.Errorf("%q, %v of a picture without a page", shows, err)
	}
	stamped, err := picture.Stamp(plain.Bytes(), []byte("page"))
	if err != nil {
		t.Fatal(err)
	}
	if shows, err := picture.Shows(stamped); shows != picture.Digest([]byte("page")) || err != nil {
		t.Errorf("%q, %v", shows, err)
	}
	if _, err := png.Decode(bytes.NewReader(stamped)); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "GIF89a", string(stamped[:20])} {
		if _, err := picture.Stamp([]byte(bad), nil); !errors.Is(err, picture.ErrNotPNG) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestComment renders tables, folds and code as GitHub does.
func TestComment(t *testing.T) {
	page, err := picture.Comment("### A `b`\n\n| a | b |\n|:-:|--:|\n| 1 | 2 |\n\n" +
		"<details><summary>more</summary>\n\n- x\n\n</details>\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h3>A <code>b</code></h3>", "<td style=\"text-align:right\">2</td>", "<summary>more</summary>",
		"<li>x</li>"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
}
