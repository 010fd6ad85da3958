package event_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/event"
)

// everyEvent are the fields that every type may have.
var everyEvent = []string{"seq", "time", "type", "text"}

// TestTable: the table names the fields of Event, all of them, and what each holds.
func TestTable(t *testing.T) {
	fields := map[string]bool{}
	for f := range reflect.TypeFor[event.Event]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = slices.Contains(everyEvent, name)
		if event.FieldDocs[name] == "" {
			t.Errorf("field %s has no documentation", name)
		}
	}
	seen := map[event.Type]bool{}
	for _, info := range event.Types {
		if seen[info.Type] || info.Doc == "" {
			t.Errorf("type %s is there twice, or without documentation", info.Type)
		}
		seen[info.Type] = true
		for _, name := range info.Fields {
			if _, known := fields[name]; !known {
				t.Errorf("type %s lists the field %s, which no event has", info.Type, name)
			}
			fields[name] = true
		}
	}
	for name, used := range fields {
		if !used {
			t.Errorf("no type has the field %s", name)
		}
	}
	if len(event.FieldDocs) != len(fields) {
		t.Errorf("documented: %d fields, of an event: %d", len(event.FieldDocs), len(fields))
	}
}
