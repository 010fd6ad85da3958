package dataset

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"image"
	"image/jpeg"
	"math/rand/v2"

	"github.com/servegate/pipeline/steps"
)

const (
	// pictureQuality is the JPEG quality in `vllm bench serve`, whose pictures are noise as well.
	pictureQuality = 75
	soundRate      = 16_000 // samples per second, 16 bits each
	// maxMedia is the largest size of all requests of a run, which are made before it begins.
	maxMedia = 4 << 30
	// bytesOfPixel is the size of a noise pixel: 0.6 bytes in JPEG, in base64, stored in the prompt and in the
	// request.
	bytesOfPixel = 0.6 * 4 / 3 * 2
)

// media makes chats of a text with noise as pictures and sounds: kind multimodal. The text comes first, as in
// vLLM's benchmark.
type media struct {
	maker
	images, width, height, sounds, seconds int
}

// part is one part of a message.
type part struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *imagePart `json:"image_url,omitempty"`
	Sound *soundPart `json:"input_audio,omitempty"`
}

type imagePart struct {
	URL string `json:"url"`
}

type soundPart struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

func show(_ context.Context, d steps.Dataset, m Material) (Source, error) {
	s := media{
		maker: newMaker(d, m.Corpus, false), images: option(d, images.Name), width: option(d, imageWidth.Name),
		height: option(d, imageHeight.Name),
		sounds: option(d, sounds.Name), seconds: option(d, soundSeconds.Name),
	}
	each := float64(s.images*s.width*s.height)*bytesOfPixel + float64(s.sounds*s.seconds*soundRate*2)*4/3*2
	if need := each * float64(max(m.Need, 1)); need > maxMedia {
		return nil, invalid(
			"pictures and sound of %d requests take %.1f GiB of memory, and %d GiB are allowed: plan fewer requests, or smaller ones", m.Need,
			need/(1<<30), maxMedia>>30)
	}
	return s, nil
}

// checkMultimodal checks the lengths, and that there are images or sounds.
func checkMultimodal(d steps.Dataset) error {
	if option(d, images.Name)+option(d, sounds.Name) == 0 {
		return invalid("a multimodal dataset without images and sounds is text: use dataset \"random\"")
	}
	return checkSpans(d)
}

func (s media) Prompt(i int, seeds Seeds) Prompt {
	lengths := stream(seeds.Lengths, streamLengths, i)
	p := Prompt{Input: between(lengths, s.spec.InputMin, s.spec.InputMax), Output: between(lengths, s.spec.OutputMin, s.spec.OutputMax)}
	r := stream(seeds.Content, streamContent, i)
	parts := []part{{Type: "text", Text: s.draw.text(0, r, p.Input, r)}}
	for range s.images {
		parts = append(parts, part{Type: "image_url", Image: &imagePart{"data:image/jpeg;base64," +
			base64.StdEncoding.EncodeToString(picture(s.width, s.height, r))}})
	}
	for range s.sounds {
		parts = append(parts, part{Type: "input_audio", Sound: &soundPart{base64.StdEncoding.EncodeToString(sound(s.seconds, r)), "wav"}})
	}
	content, err := json.Marshal(parts)
	if err == nil {
		p.Messages, err = json.Marshal([]message{{Role: "user", Content: content}})
	}
	if err != nil {
		panic("dataset: text cannot be JSON: " + err.Error()) // cannot happen for strings
	}
	return p
}

// noise fills b with random bytes.
func noise(b []byte, r *rand.Rand) {
	var word [8]byte
	for len(b) > 0 {
		binary.LittleEndian.PutUint64(word[:], r.Uint64())
		b = b[copy(b, word[:]):]
	}
}

// picture returns a JPEG of independent random pixels, which compress worst.
func picture(width, height int, r *rand.Rand) []byte {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	noise(img.Pix, r)
	for i := 3; i < len(img.Pix); i += 4 {
		img.Pix[i] = 0xff // opaque
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: pictureQuality}); err != nil {
		panic("dataset: a picture cannot be written to memory: " + err.Error()) // more than 65,535 pixels in a line
	}
	return b.Bytes()
}

// sound returns a WAV file with one channel.
func sound(seconds int, r *rand.Rand) []byte {
	data := make([]byte, seconds*soundRate*2)
	noise(data, r)
	var b bytes.Buffer
	for _, v := range []any{
		[]byte("RIFF"), uint32(36 + len(data)), []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1),
		uint32(soundRate), uint32(soundRate * 2), uint16(2), uint16(16), []byte("data"), uint32(len(data)), data,
	} {
		_ = binary.Write(&b, binary.LittleEndian, v) // a buffer never fails
	}
	return b.Bytes()
}
