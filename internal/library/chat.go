package library

import (
	"encoding/json"
	"slices"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// Chat is a conversation as GET /chats/{id} shows it.
type Chat struct {
	ID    id.Conversation `json:"id"`
	Title string          `json:"title"`
	// Updated is in whole seconds since 1970.
	Updated int64  `json:"updated"`
	Project string `json:"project"`
	// Running is the run under way, nil for none. It need not be the one
	// that its row shows: a regenerated answer is shown once it has text.
	Running  *id.Run `json:"running"`
	Messages []Row   `json:"messages"`
}

// Row is a question or an answer.
type Row struct {
	Role transcript.Role `json:"role"`
	// Content is the question, or the text of the version that is shown,
	// its segments joined by a blank line. Parts are exact.
	Content string            `json:"content"`
	Message id.Message        `json:"message_id"`
	Status  transcript.Status `json:"status"`
	// Versions are the contents of all versions, at least one; Active is
	// the one that is shown, from 0. VersionCount and VersionActive repeat
	// this for clients that know only numbers.
	Versions      []string `json:"versions"`
	Active        int      `json:"active"`
	VersionCount  int      `json:"version_count"`
	VersionActive int      `json:"version_active"`
	// VersionRuns are the runs of the versions, in their order; left out of
	// questions.
	VersionRuns []id.Run           `json:"version_runs,omitempty"`
	Parts       []Part             `json:"parts"`
	Attachments []event.Attachment `json:"attachments"`
	Usage       *event.Usage       `json:"usage"`
	// Seq is the record that began the row; it tells whether the row at a
	// position is still the same.
	Seq int64 `json:"seq"`
	// At is when that was, RFC 3339 in UTC with milliseconds.
	At string `json:"at"`

	// Of the run that is shown; left out of questions.
	Run    id.Run       `json:"run_id,omitempty"`
	Model  string       `json:"model,omitempty"`
	Error  *Fault       `json:"error,omitempty"`
	Finish event.Finish `json:"finish,omitempty"`
	// SHA256 is the hash of the run's deltas, joined, as its end says.
	SHA256 string `json:"sha256,omitempty"`
}

// Fault is why a run failed or was interrupted.
type Fault struct {
	Kind      event.ErrorKind `json:"kind"`
	Code      event.ErrorCode `json:"code"`
	Message   string          `json:"message"`
	Retryable bool            `json:"retryable"`
	// RetryAfter is in seconds; 0 for unsaid.
	RetryAfter float64 `json:"retry_after,omitempty"`
}

func newChat(c *transcript.Conversation) Chat {
	return Chat{
		ID: c.ID, Title: c.Title, Project: c.Project, Updated: c.Updated.Unix(),
		Running: running(c), Messages: newRows(c.Rows()),
	}
}

func newRows(rows []transcript.Row) []Row {
	out := make([]Row, 0, len(rows))
	for _, row := range rows {
		if row.Role == transcript.RoleUser {
			out = append(out, question(row.Turn))
			continue
		}
		out = append(out, answer(row.Turn))
	}
	return out
}

// running returns the run under way that has a row, nil for none.
func running(c *transcript.Conversation) *id.Run {
	for _, t := range slices.Backward(c.Turns) {
		for _, run := range t.Runs {
			if !t.Deleted && run.Status == transcript.Running {
				return &run.ID
			}
		}
	}
	return nil
}

func question(t *transcript.Turn) Row {
	text := t.User.Text
	attachments := t.User.Attachments
	if attachments == nil {
		attachments = []event.Attachment{}
	}
	return Row{
		Role: transcript.RoleUser, Content: text, Message: t.User.Message, Status: transcript.Complete,
		Versions: []string{text}, VersionCount: 1,
		Parts:       []Part{{Type: transcript.PartText, text: &textPart{Text: text}}},
		Attachments: attachments, Seq: t.UserSeq, At: clock(t.UserAt),
	}
}

func answer(t *transcript.Turn) Row {
	run := t.Active()
	versions, runs := []string{}, []id.Run{}
	for _, v := range t.Versions() {
		versions, runs = append(versions, v.Content()), append(runs, v.ID)
	}
	count, active := t.VersionCount()
	row := Row{
		Role: transcript.RoleAssistant, Content: run.Content(), Message: t.Message, Status: run.Status,
		Versions: versions, Active: active, VersionCount: count, VersionActive: active, VersionRuns: runs,
		Parts: parts(run), Attachments: []event.Attachment{}, Usage: run.Usage,
		Seq: t.Runs[0].First, At: clock(t.Runs[0].StartAt),
		Run: run.ID, Model: run.Start.Model,
	}
	if run.End != nil {
		row.Finish, row.SHA256 = run.End.Finish, run.End.SHA256
	}
	row.Error = newFault(run.Err)
	return row
}

// newFault returns nil for no error.
func newFault(e *event.Error) *Fault {
	if e == nil {
		return nil
	}
	return &Fault{Kind: e.Type, Code: e.Code, Message: e.Message, Retryable: e.Retryable, RetryAfter: e.RetryAfter}
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// Part is a typed piece of a row: reasoning, text or a tool call, in the order
// they began.
type Part struct {
	Type transcript.PartKind
	text *textPart
	tool *toolPart
}

// MarshalJSON writes the part flat: its type, then the members of the type.
func (p Part) MarshalJSON() ([]byte, error) {
	if p.tool != nil {
		return json.Marshal(struct {
			Type transcript.PartKind `json:"type"`
			*toolPart
		}{p.Type, p.tool})
	}
	return json.Marshal(struct {
		Type transcript.PartKind `json:"type"`
		*textPart
	}{p.Type, p.text})
}
