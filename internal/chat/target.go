package chat

import (
	"fmt"

	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// Target names a row of a conversation: by its message id, or, when that is
// empty, by its position.
type Target struct {
	Message id.Message `json:",omitempty"`
	Index   int
	// Seq, if not 0, is the seq that the row at this position had when the
	// caller looked; another one is a Conflict.
	Seq int64 `json:",omitempty"`
}

// String names the target as its sender did.
func (t Target) String() string {
	if t.Message != "" {
		return string(t.Message)
	}
	return fmt.Sprint(t.Index)
}

// find returns the row that is meant. Refusals: Missing, Conflict.
func (t Target) find(state *transcript.Conversation) (transcript.Row, error) {
	for _, row := range state.Rows() {
		if t.Message != "" && rowMessage(row) != t.Message || t.Message == "" && row.Index != t.Index {
			continue
		}
		if t.Seq != 0 && rowSeq(row) != t.Seq {
			return row, refuse(Conflict, "The messages of this chat have moved since you looked; look again, then repeat it.")
		}
		return row, nil
	}
	if t.Seq != 0 {
		return transcript.Row{}, refuse(Conflict, "The messages of this chat have moved since you looked; look again, then repeat it.")
	}
	return transcript.Row{}, refuse(Missing, "There is no message %s in this chat.", t)
}

func rowMessage(row transcript.Row) id.Message {
	if row.Role == transcript.RoleUser {
		return row.Turn.User.Message
	}
	return row.Turn.Message
}

// rowSeq is the seq of the record that began the row.
func rowSeq(row transcript.Row) int64 {
	if row.Role == transcript.RoleUser {
		return row.Turn.UserSeq
	}
	return row.Turn.Runs[0].First
}
