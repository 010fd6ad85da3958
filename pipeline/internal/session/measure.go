package session

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/engine"
)

// prepare begins the measurement: it examines the machine and carries out the steps of the file.
// What goes wrong there is an outcome; an error means that nothing was begun.
func (s *session) prepare(ctx context.Context) (err error) {
	s.engine = s.engineOptions(ctx)
	if s.measurement, err = engine.Start(ctx, s.engine); err != nil {
		return err
	}
	s.measurement.Prepare()
	return nil
}

// measure measures up to the next look of the plan.
func (s *session) measure(context.Context) error {
	s.lookDue = s.measurement.Measure()
	return nil
}

// endMeasurement takes what was measured, however it ended. An error means that the file is at fault.
func (s *session) endMeasurement(context.Context) (err error) {
	s.outcome, err = s.measurement.End()
	return err
}
