package convert

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader reads JSON token by token, so that arrays over a million requests need no tree.
type jsonReader struct {
	*jsontext.Decoder
	source string
	lim    Limits
	in     *pythonJSON
	values int // of the current object
}

func newJSONReader(r *bufio.Reader, source string, lim Limits) *jsonReader {
	in := &pythonJSON{r: r, lim: lim, line: 1}
	return &jsonReader{
		Decoder: jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		source:  source, lim: lim, in: in,
	}
}

// line returns the line of the last token.
func (j *jsonReader) line() int { return j.in.lineAt(j.InputOffset()) }

func (j *jsonReader) errorf(format string, args ...any) error {
	return &Error{Source: j.source, Line: j.line(), Err: fmt.Errorf(format, args...)}
}

// token reads a token. Its text is valid until the next one.
func (j *jsonReader) token() (jsontext.Token, error) {
	t, err := j.ReadToken()
	return t, j.failed(err)
}

func (j *jsonReader) skip() error { return j.failed(j.SkipValue()) }

// failed adds the line to an error of the decoder.
func (j *jsonReader) failed(err error) error {
	if err == nil {
		return nil
	}
	syntax, invalid := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.EOF) && j.StackDepth() == 0:
		return errEnd
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return j.errorf("the file ends in the middle of a value: %w", io.ErrUnexpectedEOF)
	case invalid:
		err = syntax.Err
	}
	return j.errorf("%w", err)
}

// number reads a number; null and NaN give NaN.
func (j *jsonReader) number() (float64, error) {
	t, err := j.token()
	if err != nil {
		return 0, err
	}
	switch t.Kind() {
	case 'n':
		return math.NaN(), nil
	case '"':
		if text := t.String(); text != "NaN" && text != "Infinity" && text != "-Infinity" {
			return 0, j.errorf("%s is not a number", clip(text))
		}
	case '0':
	default:
		return 0, j.errorf("%s is not a number", clip(t.String()))
	}
	v, err := t.Float()
	if err != nil {
		return 0, j.errorf("%s is out of range", clip(t.String()))
	}
	return v, nil
}

// tree reads a value into memory, except the members that take reads itself. It calls take for each
// member, with its path.
func (j *jsonReader) tree(path string, take func(path string) (bool, error)) (*value, error) {
	if j.values++; j.values > j.lim.Values {
		return nil, j.errorf("more than %d values: %w", j.lim.Values, ErrLimit)
	}
	t, err := j.token()
	if err != nil {
		return nil, err
	}
	v := &value{kind: t.Kind(), line: j.line()}
	switch v.kind {
	case '{', '[':
		return v, j.until(v.kind+2, func() error { return j.member(v, path, take) }) // } is { + 2, and ] is [ + 2
	case '0':
		if _, err := t.Float(); err != nil {
			return nil, j.errorf("%s is out of range", clip(t.String()))
		}
	}
	v.text = t.String()
	return v, nil
}

// member reads the next member of an object or an array.
func (j *jsonReader) member(parent *value, path string, take func(string) (bool, error)) error {
	key := "*"
	if parent.kind == '{' {
		t, err := j.token()
		if err != nil {
			return err
		}
		key = t.String()
	}
	if path != "" {
		path += "/"
	}
	if taken, err := take(path + key); taken || err != nil {
		return err
	}
	v, err := j.tree(path+key, take)
	if err != nil {
		return err
	}
	if parent.items = append(parent.items, v); parent.kind == '{' {
		parent.keys = append(parent.keys, key)
	}
	return nil
}

// array reads an array, and calls element for each element.
func (j *jsonReader) array(element func() error) error {
	if _, err := j.token(); err != nil {
		return err
	}
	return j.until(']', element)
}

// until reads the members of an object or array, and its end.
func (j *jsonReader) until(end jsontext.Kind, member func() error) error {
	for j.PeekKind() != end {
		if err := member(); err != nil {
			return err
		}
	}
	_, err := j.token()
	return err
}

// value is JSON or YAML in memory: everything except the arrays over requests.
type value struct {
	kind  jsontext.Kind // of its first token
	text  string        // of a string, number or literal
	keys  []string      // of an object, in order
	items []*value      // of an object or array
	line  int
}

// at returns the value at a path of keys separated by slashes, nil if there is none. 0 is the first
// element of an array, and a star is any member.
func (v *value) at(path string) *value {
	if v == nil {
		return nil
	}
	key, rest, more := strings.Cut(path, "/")
	var found *value
	for i, item := range v.items {
		if key != "*" && (v.kind == '[' && (i > 0 || key != "0") || v.kind == '{' && v.keys[i] != key) {
			continue
		}
		if more {
			item = item.at(rest)
		}
		if item != nil {
			found = item // the last of several, like Python
		}
	}
	return found
}

// has reports whether a value exists at every one of some paths, separated by spaces. A path may
// end with the required text of the value: a/b=text.
func (v *value) has(paths string) bool {
	for path := range strings.FieldsSeq(paths) {
		path, text, compare := strings.Cut(path, "=")
		if found := v.at(path); found == nil || compare && found.str() != text {
			return false
		}
	}
	return true
}

func (v *value) is(kind jsontext.Kind) bool { return v != nil && v.kind == kind }

// scalar reports whether the value is neither an object nor an array.
func (v *value) scalar() bool { return v.kind != '{' && v.kind != '[' }

// structure describes an object or an array for a message.
func (v *value) structure() string {
	if v.kind == '{' {
		return "an object with " + clip(strings.Join(v.keys, ", "))
	}
	return fmt.Sprintf("a list of %d values", len(v.items))
}

// str returns the text of a string, number or literal; "" for null and structures.
func (v *value) str() string {
	if v == nil || v.kind == 'n' {
		return ""
	}
	return v.text
}

// number returns the value as a finite number, and whether it is one.
func (v *value) number() (float64, bool) {
	if !v.is('0') {
		return 0, false
	}
	x, err := strconv.ParseFloat(v.text, 64)
	return x, err == nil
}

// sum adds a count over the elements of an array, and reports whether all have it.
func (v *value) sum(key string) (int64, bool) {
	if !v.is('[') {
		return 0, false
	}
	total := int64(0)
	for _, item := range v.items {
		c, err := parseCount(item.at(key).str())
		if err != nil {
			return 0, false
		}
		total += c
	}
	return total, total < 1<<53
}

// readJSON reads the objects of a file, one after the other or in an array.
func readJSON(in *bufio.Reader, name string, opt ReadOptions) ([]Run, error) {
	if mark, err := in.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
		_, _ = in.Discard(3) // cannot fail after Peek
	}
	j := newJSONReader(in, name, opt.Limits)
	var runs []Run
	object := func() error {
		found, err := j.object(opt)
		runs = append(runs, found...)
		if err == nil && len(runs) > opt.Limits.Runs {
			err = j.errorf("more than %d results: %w", opt.Limits.Runs, ErrLimit)
		}
		return err
	}
	for {
		var err error
		if j.PeekKind() == '[' {
			err = j.array(object)
		} else {
			err = object()
		}
		switch {
		case errors.Is(err, errEnd):
			return runs, nil
		case err != nil:
			return nil, err
		}
	}
}

// errEnd is the end of a file between two values.
var errEnd = errors.New("the file ends")

// object reads an object and returns its results.
func (j *jsonReader) object(opt ReadOptions) ([]Run, error) {
	j.values = 0
	q, bulk := &requests{json: j}, opt.Tools.bulk()
	root, err := j.tree("", func(path string) (bool, error) {
		if bulk[path] {
			return true, j.skip()
		}
		return q.take(path)
	})
	if err != nil {
		return nil, err
	}
	if root.kind != '{' {
		return nil, &Error{j.source, root.line, errors.New("not an object: the results of a load generator are")}
	}
	return opt.runs(root, q, j.source)
}
