package delivery

import (
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/split"
	"verbatim/internal/surface"
)

// item is one thing that a chat is to show: a text, which grows and may take
// many posts, or a card, which is one post whose text changes as a whole.
type item struct {
	// key is stable: the same records always make the same keys.
	key     string
	run     id.Run
	segment id.Segment
	kind    surface.Kind
	// text is Markdown: of a text the segment as it has come, of a card all of
	// it. version grows with each change.
	text    []byte
	version int
	card    bool
	// dress puts the text of a piece into the form in which it is shown; nil
	// leaves it as it is.
	dress func(string) string
	// closed says that nothing more is added, final that it ends with the end
	// of the answer.
	closed, final bool
	// held keeps a text back until its phase is known.
	held bool
	// moot says that a card that has not been shown need not be any more.
	moot bool
	// dropped says that what is not shown yet never will be: its turn was
	// deleted.
	dropped bool
	// listed says that it has its place among the items.
	listed bool
	// whole says that a text is shown once it is closed, not before.
	whole bool
	// seq is that of the last record in it, at its time; first that of the
	// first.
	seq, first int64
	at         time.Time
	replyTo    string
	buttons    []surface.Button
	// marked and plain find places to cut the text.
	marked, plain split.Scanner
	files         []surface.File
}

func (it *item) touch(r event.Record) {
	it.seq, it.at = r.Seq, r.At
	it.version++
}

// show is a run as one chat sees it.
type show struct {
	id id.Run
	// turn is the user message that it answers; first is the seq from which on
	// records must be read again while it is not done.
	turn  id.Message
	first int64
	// last is the seq of its terminal, 0 while it has none.
	last int64
	at   time.Time
	// hidden says that this chat shows nothing of it, outside that it began
	// when the chat had turned to another conversation.
	hidden, outside bool
	dropped         bool
	replyTo         string
	items           []*item
	withheld        Withheld
	// waiting counts the approvals that wait for a person.
	waiting int
	calls   map[id.Call]*call
	// open are calls without a result, on a surface that shows calls when they
	// are over; group is the card that takes the next call.
	open  []*call
	group *group
}
