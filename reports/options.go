package reports

import "github.com/servegate/pipeline/reports/model"

// Options choose what a report shows. The zero value shows everything.
type Options = model.Options
