package dataset

import (
	"strings"
	"testing"
)

// TestTooManyNames begins with all names counted that a table may have: reading them would take half a GiB.
func TestTooManyNames(t *testing.T) {
	table := &Table{blocks: maxBlocks + 1}
	if err := table.add(Entry{}); err == nil || !strings.Contains(err.Error(), "names of blocks") {
		t.Errorf("too many names: %v", err)
	}
	line, _ := beginOTLP(&Table{blocks: maxBlocks})
	export := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001",
		"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000001000000000","attributes":[
		{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},
		{"key":"gen_ai.input.messages","value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}},
		{"key":"gen_ai.usage.input_tokens","value":{"intValue":80}},
		{"key":"gen_ai.usage.output_tokens","value":{"intValue":20}}]}]}]}]}`
	if err := line(1, []byte(export)); err == nil ||
		!strings.Contains(err.Error(), "too many different messages") {
		t.Errorf("too many messages: %v", err)
	}
}
