package exec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseOutputs(t *testing.T) {
	tests := map[string]struct {
		text     string
		declared []string
		want     map[string]string
		err      string
	}{
		"none": {"", nil, map[string]string{}, ""},
		"values": {"digest=sha256:1\n\nurl=http://h/?a=b\r\n", []string{"digest", "url"}, map[string]string{"digest": "sha256:1",
			"url": "http://h/?a=b"}, ""},
		"last wins":    {"a=1\na=2", []string{"a"}, map[string]string{"a": "2"}, ""},
		"empty value":  {"a=\n", []string{"a"}, map[string]string{"a": ""}, ""},
		"missing":      {"a=1\n", []string{"a", "b"}, nil, `did not write the output "b"`},
		"undeclared":   {"a=1\nb=2\n", []string{"a"}, nil, `wrote the output "b", which outputs does not list`},
		"no equals":    {"hello\n", []string{"a"}, nil, "line 1 of the output file is not name=value"},
		"not text":     {"a=\xff\n", []string{"a"}, nil, "is not text"},
		"zero":         {"a=\x00\n", []string{"a"}, nil, "is not text"},
		"long line":    {"a=" + strings.Repeat("x", maxLine), []string{"a"}, nil, "longer than"},
		"large output": {strings.Repeat("a=1\n", maxOutput/4+1), []string{"a"}, nil, "larger than"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseOutputs(strings.NewReader(tt.text), tt.declared)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParseOutputs(f *testing.F) {
	f.Add("digest=sha256:1\nurl=http://h/?a=b\n")
	f.Add("a\n=\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseOutputs(strings.NewReader(text), []string{"a", "digest"})
		if err != nil {
			return
		}
		if len(got) != 2 {
			t.Errorf("%d outputs", len(got))
		}
		for name, value := range got {
			if !strings.Contains(text, name+"="+value) {
				t.Errorf("%s=%q was not written", name, value)
			}
		}
	})
}
