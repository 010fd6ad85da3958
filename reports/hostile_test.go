package reports_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/result"
)

// payloads are texts that mean something to one of the formats.
var payloads = []string{
	"a|b\\|c <img src=x onerror=alert(1)> @everyone #1 GH-1 https://evil.example www.evil.example",
	"line\r\nbreak\n\n# heading\n```\nfence\n</details>",
	"\x1b[31mred\x1b[0m \x1b]0;title\a \x9b31m \u202egnp.exe\u2066 zero\u200bwidth \xff",
	"![x](https://evil.example/x.png) [y](javascript:alert(1)) `code` **bold** $x$",
	"=HYPERLINK(\"https://evil.example\")", "@SUM(1)", "-1+1", "::error::forged ##[error]forged",
	"]]><x/>&lt;&amp;", "名前名前", "<!-- pipeline:report v1 key=x -->",
}

// hostile is a document with a payload in every text that the schema leaves open.
func hostile() *result.Document {
	doc := regression()
	doc.Launches[0].Failure = &result.Failure{Phase: "ready", LogTail: []string{"````", "~~~", "</details>"}}
	doc.Steps = []result.Step{{Status: "done", Failure: &result.Failure{Phase: "step"}}}
	doc.Answers, doc.Evaluations = answersDiffer().Answers, answersDiffer().Evaluations
	n := 0
	poison(reflect.ValueOf(doc).Elem(), &n)
	doc.Schema = result.Schema
	return doc
}

// closed are the fields whose text refers to another one or is not open for other reasons.
// Enumerations are known by their types.
var closed = map[string]bool{
	"Schema": true, "Hash": true, "ID": true, "Launch": true, "Cell": true, "BaseCell": true, "Phase": true,
	"Unit": true, "Metrics": true, "Summary": true, "Histograms": true, "Metric": true, "Direction": true, "Scale": true,
}

// references are the texts that must stay equal to others: they get the same payload.
var references = map[string]int{"Addr": 0, "Target": 0, "Benchmark": 0, "Engine": 1}

func poison(v reflect.Value, n *int) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != reflect.TypeFor[string]() {
			return
		}
		v.SetString(payloads[*n%len(payloads)] + v.String())
		*n++
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem(), n)
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), n)
		}
	case reflect.Map:
		poisonMap(v, n)
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			f := v.Field(i)
			if p, ok := references[name]; ok && f.Kind() == reflect.String {
				f.SetString(f.String() + payloads[p])
				continue
			}
			if !closed[name] && f.CanSet() {
				poison(f, n)
			}
		}
	}
}

// poisonMap puts a payload into the keys and the text values of a map.
func poisonMap(m reflect.Value, n *int) {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		value := m.MapIndex(k)
		if value.Kind() == reflect.Interface {
			value = value.Elem()
		}
		if value.Kind() == reflect.String {
			value = reflect.ValueOf(payloads[*n%len(payloads)] + value.String())
		}
		m.SetMapIndex(k, reflect.Value{})
		m.SetMapIndex(reflect.ValueOf(fmt.Sprint(k.String(), payloads[*n%len(payloads)])), value)
		*n++
	}
}
