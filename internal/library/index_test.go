package library_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/library"
)

func TestPositionsAreThoseOfChat(t *testing.T) {
	l := &fakeLog{t: t, piece: 3}
	for _, n := range []string{"1", "2", "3"} {
		l.ask(n, "question "+n)
		l.say(n, "s1", "answer "+n, event.PhaseAnswer)
		l.end(n)
	}
	l.add("", "", event.UserMessage{Message: "u4", Text: "not answered yet"})
	l.add("", "", event.MessageDeleted{Message: "u2"})
	got, err := library.New(l).Positions(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[id.Message]int{"u1": 0, "m1": 1, "u3": 2, "m3": 3, "u4": 4}, got); diff != "" {
		t.Errorf("positions (-want +got):\n%s", diff)
	}
	for i, row := range rows(t, l) {
		if message := id.Message(row["message_id"].(string)); got[message] != i {
			t.Errorf("row %d of the chat is at %d", i, got[message])
		}
	}
	if none, err := library.New(l).Positions(t.Context(), "c9"); err != nil || len(none) != 0 {
		t.Errorf("unknown = %v, %v", none, err)
	}
	l.err = errors.New("the disk said no")
	if _, err := library.New(l).Positions(t.Context(), "c1"); !errors.Is(err, l.err) {
		t.Errorf("error = %v", err)
	}
}
