package function

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"unicode/utf8"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/lang/meter"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// maxJSONDepth is the largest nesting to decode: the types of cty recurse over it.
const maxJSONDepth = 100

func encodingEntries() []entry {
	return []entry{
		{name: "base64decode", f: base64Decode, doc: "The text that base64 (RFC 4648, section 4) stands for; it must be UTF-8.",
			args: []string{"Base64 with padding."}},
		{name: "base64encode", f: text("string", base64Encode), doc: "The UTF-8 bytes of a string in base64 (RFC 4648, section 4).",
			args: []string{"The string."}},
		{name: "jsondecode", f: stdlib.JSONDecodeFunc, check: checkJSON, doc: "The value that JSON stands for.",
			args: []string{"JSON, nested at most 100 deep."}},
		{name: "yamldecode", f: ctyyaml.YAMLDecodeFunc, check: checkYAML,
			doc: "The value that YAML 1.2 stands for, without anchors and aliases.", args: []string{"YAML of one document."}},
		{name: "yamlencode", f: ctyyaml.YAMLEncodeFunc, doc: "A value as YAML.", args: []string{"The value."}},
		{name: "jsonencode", f: stdlib.JSONEncodeFunc, doc: "A value as JSON.", args: []string{"The value."}},
		{name: "sha256", f: text("string", sha256Hex), doc: "The SHA-256 of the UTF-8 bytes of a string, in hexadecimal.",
			args: []string{"The string."}},
		{name: "urlencode", f: text("string", url.QueryEscape), doc: "A string escaped for the query of a URL.", args: []string{"The string."}},
	}
}

// text returns a function of one string to a string that cannot fail.
func text(name string, f func(string) string) function.Function {
	return pure(cty.String, func(args []cty.Value) (cty.Value, error) {
		return cty.StringVal(f(args[0].AsString())), nil
	}, param(name, cty.String))
}

func base64Encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func sha256Hex(s string) string {
	hash := sha256.Sum256([]byte(s))
	return hex.EncodeToString(hash[:])
}

var base64Decode = pure(cty.String, func(args []cty.Value) (cty.Value, error) {
	decoded, err := base64.StdEncoding.DecodeString(args[0].AsString())
	if err != nil {
		return cty.NilVal, function.NewArgErrorf(0, "this is not base64: %w", err)
	}
	if !utf8.Valid(decoded) {
		return cty.NilVal, function.NewArgErrorf(0, "what it stands for is not UTF-8 text")
	}
	return cty.StringVal(string(decoded)), nil
}, param("base64", cty.String))

// maxYAML is the largest number of elements to decode: the decoder recurses over them.
const maxYAML = 10_000

// yamlAlias matches possible anchors and aliases: a few of them can expand to any number of
// elements.
var yamlAlias = lazyregexp.New(`(?m)(^|[\s\[{,:-])[&*][^\s,\]}]`)

// checkYAML counts the possible beginnings of elements.
func checkYAML(args []cty.Value) (int64, error) {
	src, ok := stringArg(args, 0)
	if !ok {
		return 0, nil
	}
	if yamlAlias.MatchString(src) {
		return 0, function.NewArgErrorf(0, "anchors and aliases are not read; put a text that begins with & or * in quotes")
	}
	elements := int64(0)
	for _, c := range []byte(src) {
		switch c {
		case '[', '{', ',', ':', '-', '?':
			elements++
		}
	}
	if elements > maxYAML {
		return 0, function.NewArgErrorf(0, "the YAML has more than %d elements", maxYAML)
	}
	return elements * 16, nil
}

// checkJSON counts brackets and commas outside strings.
func checkJSON(args []cty.Value) (int64, error) {
	src, ok := stringArg(args, 0)
	if !ok {
		return 0, nil
	}
	depth, elements, inString, escaped := 0, int64(1), false, false
	for _, c := range []byte(src) {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped = c == '\\'
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '[' || c == '{':
			elements++
			if depth++; depth > maxJSONDepth {
				return 0, function.NewArgErrorf(0, "the JSON is nested more than %d deep", maxJSONDepth)
			}
		case c == ']' || c == '}':
			depth--
		case c == ',':
			elements++
		}
	}
	return elements, fits(elements*meter.ElementBytes + int64(len(src)))
}
