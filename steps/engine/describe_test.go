package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps/engine"
	"pgregory.net/rapid"
)

func TestFactsJSON(t *testing.T) {
	f := engine.Facts{}
	err := f.JSON("server_info", []byte(`{
		"version": "0.5.3", "tp_size": 2, "ratio": 0.85, "trust": false, "none": null,
		"api_key": "k", "hf_token": "h", "tokenizer_path": "t", "max_tokens": 7,
		"list": [1, {"password": "p"}], "empty": [], "text": "two\n lines",
		"dbo_decode_token_threshold": 32, "password": 84926173, "pass_config": {"fuse": true, "size": 4},
		"deep": {"a": {"b": {"auth": {"on": true, "why": "w"}, "pass_config": {"why": "w"}}}},
		"kv_transfer_config": {"engine_id": "4f2a"}, "a": {"b": {"c": {"d": 1}}}, "internal_states": [{"x": 1}]
	}`), "internal_states")
	if err != nil {
		t.Fatal(err)
	}
	want := engine.Facts{
		"server_info.version": "0.5.3", "server_info.tp_size": "2", "server_info.ratio": "0.85", "server_info.trust": "false",
		"server_info.api_key": "(redacted)", "server_info.hf_token": "(redacted)",
		"server_info.tokenizer_path": "t", "server_info.max_tokens": "7",
		"server_info.list": `[1,{"password":"(redacted)"}]`, "server_info.text": "two lines",
		"server_info.a.b.c": `{"d":1}`, "server_info.dbo_decode_token_threshold": "32", "server_info.password": "(redacted)",
		"server_info.pass_config.fuse": "true", "server_info.pass_config.size": "4",
		"server_info.deep.a.b": `{"auth":{"on":true,"why":"(redacted)"},"pass_config":{"why":"w"}}`,
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Error(diff)
	}
	if err := f.JSON("x", []byte("<html>")); err == nil {
		t.Error("HTML is no JSON")
	}
}

func TestFactsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "m")
		for i := range rapid.IntRange(0, 800).Draw(t, "more") {
			m[fmt.Sprint("k", i)] = strings.Repeat("ü", 400)
		}
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		f := engine.Facts{}
		if err := f.JSON("p", data); err != nil {
			t.Fatal(err)
		}
		if len(f) > 400 {
			t.Fatalf("%d facts", len(f))
		}
		for k, v := range f {
			if len(v) > 400+len("…") || strings.ContainsAny(v, "\n\r") {
				t.Fatalf("%s: %q", k, v)
			}
		}
	})
}
