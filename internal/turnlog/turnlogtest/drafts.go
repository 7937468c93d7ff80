package turnlogtest

import (
	"encoding/json"
	"strings"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// The drafts that scripts are made of.

func asked(m id.Message, text string) turnlog.Draft {
	return turnlog.Draft{Event: event.UserMessage{Message: m, Text: text, Via: event.Via{Surface: "web"}}}
}

func started(r id.Run, m id.Message) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.Start{Model: "demo/demo", Version: 1, Request: "hash of " + string(r)}}
}

func again(r id.Run, m, question id.Message) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.Start{Model: "demo/demo", Version: 2, RegenerateOf: question}}
}

func retried(r id.Run, m id.Message) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.Start{Model: "demo/demo", Version: 1, Retry: true}}
}

func said(r id.Run, m id.Message, offset int, text string) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.Delta{Segment: "s1", Offset: int64(offset), Text: text}}
}

func ended(r id.Run, m id.Message) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.End{Finish: event.FinishStop, Chars: 1, SHA256: strings.Repeat("0", 64)}}
}

func fact(e event.Event) turnlog.Draft { return turnlog.Draft{Event: e} }

// attached is asked with a file.
func attached(m id.Message, text, blob string) turnlog.Draft {
	return fact(event.UserMessage{Message: m, Text: text, Via: event.Via{Surface: "web"}, Attachments: []event.Attachment{
		{ID: "f1", Name: "a.txt", MIME: "text/plain", Size: 1, Blob: blob},
	}})
}

func cancelled(r id.Run, m id.Message) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.Cancelled{By: "owner"}}
}

func reasoned(r id.Run, m id.Message, text string) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.Reasoning{Segment: "s0", Text: text}}
}

func called(r id.Run, m id.Message, call id.Call, args string) turnlog.Draft {
	raw, text := event.NewArgs(args)
	return turnlog.Draft{Run: r, Message: m, Event: event.ToolCall{Call: call, Index: 1, Name: "run_command", Args: raw, ArgsText: text}}
}

func requested(r id.Run, m id.Message, call id.Call, a id.Approval) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.ApprovalRequest{
		Approval: a, Call: call, Name: "run_command", Args: json.RawMessage(`{}`), Risk: event.RiskHigh, Reason: "runs a command",
		ExpiresAt: time.UnixMilli(1_700_000_300_000).UTC(),
	}}
}

func resolved(r id.Run, m id.Message, a id.Approval, d event.Decision) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.ApprovalResolved{Approval: a, Decision: d, By: "owner"}}
}

func returned(r id.Run, m id.Message, call id.Call, output, blob string) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.ToolResult{
		Call: call, Name: "run_command", OK: true, Output: output, OutputBytes: int64(len(output)), Blob: blob,
	}}
}

// queued puts a message into the queue or changes it there.
func queued(op event.QueueOp, r id.Run, m id.Message, text, blob string) turnlog.Draft {
	message := attached(m, text, blob).Event.(event.UserMessage)
	if blob == "" {
		message.Attachments = nil
	}
	return fact(event.Queue{Op: op, Run: r, Message: &message, Request: "hash of " + text})
}

// unqueued takes a message out of the queue, to be sent or not.
func unqueued(op event.QueueOp, r id.Run) turnlog.Draft { return fact(event.Queue{Op: op, Run: r}) }
