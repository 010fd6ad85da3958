package reports

import (
	"io"

	"github.com/servegate/pipeline/reports/result"
)

// JSON writes the document itself, see result.Encode.
func JSON(w io.Writer, doc *result.Document) error { return result.Encode(w, doc) }
