package model

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes a document as indented JSON.
func JSON(w io.Writer, document any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(document); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return nil
}
