package reports

import (
	"io"

	"github.com/servegate/pipeline/reports/result"
)

// JSON writes the document itself, see result.Encode. It has no options.
func JSON(w io.Writer, doc *result.Document, _ Options) error { return result.Encode(w, doc) }
