package session

import (
	"context"

	"github.com/servegate/pipeline/pipeline/internal/engine"
)

// prepare starts the measurement: it examines the machine and runs the steps of the file. Failures are part of
// the outcome; an error means that it was not started.
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

// endMeasurement takes the outcome, however the measurement ended. An error means that the file is wrong.
func (s *session) endMeasurement(context.Context) (err error) {
	s.outcome, err = s.measurement.End()
	return err
}
