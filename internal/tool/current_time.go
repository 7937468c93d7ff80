package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"verbatim/internal/event"
)

type currentTime struct {
	now      func() time.Time
	location *time.Location
}

func (currentTime) Spec() Spec {
	return Spec{
		Name:        "current_time",
		Description: `Tells the date, the weekday and the time of day, with the time zone of the person you work for. Call it whenever an answer depends on the present moment ("today", "in two hours", the age of a file); you can't know it otherwise. It takes no arguments.`,
		Parameters:  json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Risk:        event.RiskNone,
		ReadOnly:    true,
	}
}

func (t currentTime) Prepare(args json.RawMessage) (Action, error) {
	if err := readArguments(args); err != nil {
		return Action{}, err
	}
	return Action{Reason: "tells the time", Run: t.run}, nil
}

func (t currentTime) run(_ context.Context, out Output) error {
	now := t.now().In(t.location)
	// The name of a zone is ambiguous (IST, CST) or missing; the place and the
	// offset are neither.
	_, err := fmt.Fprintf(out, "%s, %s (%s)\n", now.Format(time.RFC3339), now.Weekday(), t.zone(now))
	return err
}

func (t currentTime) zone(now time.Time) string {
	offset := "UTC" + now.Format("-07:00")
	if name := t.location.String(); name != "Local" && name != "" {
		return "time zone " + name + ", " + offset
	}
	return "time zone " + offset
}
