package convert

import (
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
)

// maxParams bounds the parameters from the text around a result.
const maxParams = 500

// synonyms returns other names of parameters.
var synonyms = sync.OnceValue(comparability.Synonyms)

// canonicalKey returns the stored name of a parameter: snake case, one for all synonyms.
func canonicalKey(key string) string {
	text := strings.TrimLeft(key, "-")
	key = slug(text)
	if bare := slug(workUnit.ReplaceAllString(text, "")); requested(bare) {
		key = bare
	}
	if s, ok := synonyms()[key]; ok {
		return s
	}
	return key
}

// canonicalValue returns text without quotes, and numbers in shortest form, so that 2 and 2.0 are
// equal. Python's None counts as no value. The language composes characters, so this does as well. A long value ends with a
// hash of all of it, so that it stays apart from others.
func canonicalValue(value string) string {
	const limit, tail = 500, 20
	value = strings.TrimSpace(norm.NFC.String(value))
	if n := len(value); n >= 2 && (value[0] == '\'' || value[0] == '"') && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	switch strings.ToLower(value) {
	case "none", "null", "not set":
		return ""
	case "true", "false":
		return strings.ToLower(value)
	case "inf", "infinity":
		return "inf"
	}
	if isNumber(value) {
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	if len(value) > limit {
		sum := fnv.New64a()
		_, _ = io.WriteString(sum, value) // a hash returns no error
		value = strings.ToValidUTF8(value[:limit-tail], "") + fmt.Sprintf("…%016x", sum.Sum64())
	}
	return value
}

// setParam sets a parameter; an empty value (None) changes nothing.
func (r *Run) setParam(key, value string) { r.keep(canonicalKey(key), value) }

// keep stores a parameter under exactly this key.
func (r *Run) keep(key, value string) {
	value = canonicalValue(value)
	if key == "" || value == "" || secretKey.MatchString(key) {
		return
	}
	if _, ok := r.Params[key]; ok || len(r.Params) < maxParams {
		put(&r.Params, key, value)
	}
}

// secretKey matches parameters that must not reach a report: keys, headers with authorization,
// passwords. Commands and dumps of arguments contain them.
var secretKey = lazyregexp.New(
	`(?:^|_)(?:api_?key|secret|password|passwd|authorization|header|headers|extra_headers|hf_token|access_token|auth_token|bearer)(?:_|$)`)

// Param returns a parameter by any of its names. "input_len" and "output_len" are those of the
// dataset in use (--sonnet-input-len with sonnet). "source" is the file, "tool" the tool and
// "format" the format of the result. If "gpus" is not reported, it is computed from the parallelism
// of the server.
func (r *Run) Param(key string) (string, bool) {
	key = canonicalKey(key)
	switch key {
	case "source":
		return r.Source, true
	case "tool":
		return r.Tool, r.Tool != ""
	case "format":
		return string(r.Format), true
	}
	if v, ok := r.work[key]; ok {
		return v, true
	}
	if dataset := datasetPrefix(r.Params["dataset_name"]); dataset != "" && isDatasetKey(key) {
		if v, ok := r.Params[dataset+"_"+key]; ok {
			return v, true
		}
	}
	if v, ok := r.Params[key]; ok {
		return v, true
	}
	if isDatasetKey(key) {
		return r.onlyDatasetParam(key)
	}
	if key == comparability.GPUs {
		return r.gpus()
	}
	return "", false
}

func isDatasetKey(key string) bool {
	return key == "input_len" || key == "output_len" || key == "prefix_len" || key == "range_ratio"
}

// datasetPrefix returns the prefix of a dataset's arguments.
func datasetPrefix(name string) string {
	switch name = slug(name); name {
	case "random_ids", "random_mm":
		return "random"
	case "generated_shared_prefix":
		return "gsp"
	default:
		return name
	}
}

// onlyDatasetParam returns a length that was given for one dataset only.
func (r *Run) onlyDatasetParam(key string) (string, bool) {
	found := ""
	for _, dataset := range []string{"random", "sonnet", "sharegpt", "hf", "custom", "gsp", "prefix_repetition"} {
		if v, ok := r.Params[dataset+"_"+key]; ok {
			if found != "" && found != v {
				return "", false
			}
			found = v
		}
	}
	return found, found != ""
}

// settingOf reads a setting on its own line: "num_prompts: 8", "seq_length = 80", also as an item of a
// list or with a name in bold. A regular expression would be too slow, since most lines of a log are read here.
func settingOf(line string) (key, value string, ok bool) {
	const longestKey, longestValue = 41, 201
	line = strings.TrimLeft(strings.ReplaceAll(line, "**", ""), "-* ")
	at := 0
	for at < len(line) && isKeyByte(line[at]) {
		at++
	}
	key = strings.TrimRight(line[:at], " \t")
	if len(key) == 0 || len(key) > longestKey || (key[0]|0x20) < 'a' || (key[0]|0x20) > 'z' || at == len(line) ||
		strings.Contains(key, "\t") || line[at] != ':' && line[at] != '=' || strings.HasPrefix(line[at:], "://") {
		return "", "", false
	}
	value = strings.Trim(line[at+1:], " \t\n\f\r")
	return key, value, value != "" && utf8.RuneCountInString(value) <= longestValue
}

// isKeyByte reports whether a byte can be part of a setting's name, or stand between it and the colon.
func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == ' ' || c == '-' || c == '\t'
}

// assignments parses the settings in a heading: "input_len=256, qps = 2, 4, 6, 8". A list is one
// value, joined by ", ".
func assignments(text string) map[string]string {
	out := map[string]string{}
	last := ""
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		switch {
		case ok:
			words := strings.FieldsFunc(key, func(c rune) bool { return c == ' ' || c == ':' || c == '(' })
			if len(words) == 0 {
				last = ""
				continue
			}
			last = canonicalKey(words[len(words)-1])
			out[last] = canonicalValue(strings.TrimRight(strings.TrimSpace(value), ")"))
		case last != "":
			out[last] += ", " + canonicalValue(part)
		}
	}
	delete(out, "")
	return out
}
