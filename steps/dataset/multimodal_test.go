package dataset_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image/jpeg"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// TestMultimodal: a request has a text of the wanted length, and the pictures and sounds that are asked for, which
// decode to the wanted sizes, and are new in each repeat.
func TestMultimodal(t *testing.T) {
	d := steps.Dataset{
		Kind: "multimodal", InputMin: 20, InputMax: 20, OutputMin: 4, OutputMax: 8,
		Options: map[string]any{"images": 2.0, "image_width": 320.0, "image_height": 200.0, "sounds": 1.0, "sound_seconds": 2.0},
	}
	src := source(t, d, dataset.Corpus{TokensPerByte: 0.25, Chat: true})
	p, again, other := src.Prompt(3, dataset.Seeds{1, 1}), src.Prompt(3, dataset.Seeds{1, 1}), src.Prompt(3, dataset.Seeds{1, 2})
	if !bytes.Equal(p.Messages, again.Messages) || bytes.Equal(p.Messages, other.Messages) || p.Output != other.Output {
		t.Error("content is not that of its seed alone")
	}
	var messages []struct {
		Role    string
		Content []struct {
			Type, Text string
			Image      struct{ URL string }          `json:"image_url"`
			Sound      struct{ Data, Format string } `json:"input_audio"`
		}
	}
	if err := json.Unmarshal(p.Messages, &messages); err != nil || len(messages) != 1 || len(messages[0].Content) != 4 {
		t.Fatalf("%v: %.200s", err, p.Messages)
	}
	parts := messages[0].Content
	if n := len(parts[0].Text); parts[0].Type != "text" || n < 80 || n > 100 {
		t.Errorf("a text of %d bytes, want about 80", n)
	}
	decode := func(text string) []byte {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var pictures [][]byte
	for _, at := range parts[1:3] {
		raw := decode(strings.TrimPrefix(at.Image.URL, "data:image/jpeg;base64,"))
		img, err := jpeg.Decode(bytes.NewReader(raw))
		if err != nil || img.Bounds().Dx() != 320 || img.Bounds().Dy() != 200 {
			t.Errorf("a picture of %v, %v", img.Bounds(), err)
		}
		pictures = append(pictures, raw)
	}
	if bytes.Equal(pictures[0], pictures[1]) {
		t.Error("a picture comes twice")
	}
	// Pillow, with which vLLM's client makes its noise, needs 39,985 bytes for 256 × 256: 0.61 a pixel.
	if share := float64(len(pictures[0])) / (320 * 200); share < 0.55 || share > 0.67 {
		t.Errorf("%.2f bytes a pixel", share)
	}
	wav := decode(parts[3].Sound.Data)
	if parts[3].Sound.Format != "wav" || string(wav[:4]) != "RIFF" || string(wav[8:16]) != "WAVEfmt " || len(wav) != 44+2*16_000*2 {
		t.Errorf("a sound of %d bytes: %q", len(wav), wav[:44])
	}
}

// TestMultimodalBounds: what makes no sense, or takes all memory, is refused.
func TestMultimodalBounds(t *testing.T) {
	d := steps.Dataset{Kind: "multimodal", InputMin: 20, InputMax: 20, OutputMin: 4, OutputMax: 4}
	for name, tt := range map[string]struct {
		options map[string]any
		want    string
	}{
		"nothing": {map[string]any{"images": 0.0}, "is text"},
		"size":    {map[string]any{"image_width": 0.0}, "image_width = 0 must be a whole number from 1"},
		"memory":  {map[string]any{"image_width": 8192.0, "image_height": 8192.0}, "GiB of memory"},
	} {
		d.Options = tt.options
		_, err := (&dataset.Files{}).Source(t.Context(), d, dataset.Material{Corpus: dataset.Corpus{TokensPerByte: 0.25, Chat: true}, Need: 1000})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEndpoints: a dataset is for an endpoint that can be sent it.
func TestEndpoints(t *testing.T) {
	for kind, want := range map[string]string{"rerank": "rerank", "multimodal": "chat"} {
		for _, e := range steps.Endpoints {
			if err := dataset.CheckEndpoint(steps.Dataset{Kind: kind}, e.Name); (err == nil) != (e.Name == want) {
				t.Errorf("%s to %s: %v", kind, e.Name, err)
			}
		}
	}
	if dataset.CheckEndpoint(steps.Dataset{Kind: "random"}, "rerank") == nil ||
		dataset.CheckEndpoint(steps.Dataset{Kind: "file"}, "rerank") != nil {
		t.Error("a query needs documents")
	}
}
