package transcript

import (
	"slices"

	"verbatim/internal/id"
)

// Role says whose row it is.
type Role string

// The roles of a row.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Row is a line of the conversation as people see it.
type Row struct {
	Role Role
	Turn *Turn
	// Index is the row's position from 0. It changes when a turn before it
	// is deleted or restored, so it is never stored.
	Index int
}

// Rows returns the rows in order: a question, then its answer once a run has
// started. Deleted turns have none.
func (c *Conversation) Rows() []Row {
	rows := make([]Row, 0, 2*len(c.Turns))
	for _, t := range c.Turns {
		if t.Deleted {
			continue
		}
		rows = append(rows, Row{RoleUser, t, len(rows)})
		if len(t.Runs) > 0 {
			rows = append(rows, Row{RoleAssistant, t, len(rows)})
		}
	}
	return rows
}

// FindRow returns the row at an index, and false when there is none.
func (c *Conversation) FindRow(index int) (Row, bool) {
	rows := c.Rows()
	if index < 0 || index >= len(rows) {
		return Row{}, false
	}
	return rows[index], true
}

// Place says where the turn of a run is: the rows of its question and its
// answer, nil when they are gone; how many versions the answer has, at least
// 1; and which of them is shown, from 0.
func (c *Conversation) Place(run id.Run) (userIndex, assistantIndex *int, versions, active int) {
	versions = 1
	for _, row := range c.Rows() {
		if row.Turn.run(run) == nil {
			continue
		}
		index := row.Index
		if row.Role == RoleUser {
			userIndex = &index
			continue
		}
		assistantIndex = &index
	}
	for _, t := range c.Turns {
		if t.run(run) != nil {
			versions, active = t.VersionCount()
		}
	}
	return userIndex, assistantIndex, versions, active
}

// Active returns the run that is shown as the answer; nil before the first
// has started. It is the latest with visible text that started after a person
// chose a version, else the chosen one, else the latest with visible text, else
// the latest.
func (t *Turn) Active() *Run {
	var active *Run
	for _, run := range t.Runs {
		if active == nil || run.Visible() || !active.Visible() {
			active = run
		}
	}
	if active == nil || active.First > t.ChosenSeq {
		return active
	}
	if chosen := t.run(t.Chosen); chosen != nil && chosen.Visible() {
		return chosen
	}
	return active
}

// Versions returns the runs that are versions of the answer, oldest first:
// those with visible text, or when none has any, the active one alone. It is
// empty only before the first run.
func (t *Turn) Versions() []*Run {
	var versions []*Run
	for _, run := range t.Runs {
		if run.Visible() {
			versions = append(versions, run)
		}
	}
	if active := t.Active(); len(versions) == 0 && active != nil {
		return []*Run{active}
	}
	return versions
}

// VersionCount returns how many versions there are, at least 1, and the
// position of the active one.
func (t *Turn) VersionCount() (count, active int) {
	versions := t.Versions()
	return max(len(versions), 1), max(slices.Index(versions, t.Active()), 0)
}

func (t *Turn) run(run id.Run) *Run {
	for _, r := range t.Runs {
		if r.ID == run {
			return r
		}
	}
	return nil
}

// Visible reports whether the run has text with a visible character, be it
// answer or commentary.
func (run *Run) Visible() bool {
	return slices.ContainsFunc(run.Parts, func(p *Part) bool { return p.Kind == PartText && p.Visible })
}

// Content joins the text segments that have a visible character by a blank
// line. It is for readers that know one text per message; Parts are exact.
func (run *Run) Content() string {
	var content []byte
	for _, p := range run.Parts {
		if p.Kind != PartText || !p.Visible {
			continue
		}
		if len(content) > 0 {
			content = append(content, "\n\n"...)
		}
		content = append(content, p.Text...)
	}
	return string(content)
}
