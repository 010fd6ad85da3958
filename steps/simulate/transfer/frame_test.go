package transfer

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzFrame(f *testing.F) {
	var good bytes.Buffer
	if err := writeFrame(&good, frame{Op: "get", Key: "block-7", Tokens: 12, Wait: true}); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("KVX1\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, err := readFrame(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := writeFrame(&again, frame); err != nil {
			t.Skip() // escapes can make it longer than a frame may be
		}
		back, err := readFrame(&again)
		if err != nil || cmp.Diff(frame, back) != "" {
			t.Errorf("%+v comes back as %+v, %v", frame, back, err)
		}
	})
}

func TestFrameLimits(t *testing.T) {
	for name, text := range map[string]string{
		"another protocol": "GET /metrics HTTP/1.1\r\n\r\n",
		"too long":         "KVX1\xff\xff\xff\xff{}",
		"no JSON":          "KVX1\x00\x00\x00\x02[]",
		"payload too long": "KVX1\x00\x00\x00\x1d{\"op\":\"kv\",\"payload\":99999999}",
	} {
		if _, err := readFrame(bytes.NewReader([]byte(text))); !errors.Is(err, errFrame) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := readFrame(bytes.NewReader([]byte("KVX1\x00"))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a frame: %v", err)
	}
	if err := writeFrame(io.Discard, frame{Key: string(make([]byte, maxFrame))}); err == nil {
		t.Error("a key of any length is sent")
	}
}
