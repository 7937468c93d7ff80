package store_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/store"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

func chat(name string) delivery.Address {
	return delivery.Address{Surface: "s", Chat: surface.Chat{ID: name}}
}

// atWork makes a database with lanes and an inbox that are at work: a run is under
// way in conversation c, and another one, of which nothing is shown yet, in
// silent.
func atWork(t *testing.T, db *store.DB, l *turnlog.Log) {
	t.Helper()
	p := newPoster(t, db, l)
	drafts := func(run id.Run) []turnlog.Draft {
		return []turnlog.Draft{
			{Event: event.UserMessage{Message: id.Message("q" + run), Text: "hi"}},
			{Run: run, Message: id.Message("a" + run), Event: event.Start{Model: "x", Version: 1}},
		}
	}
	older, err := db.Bind(t.Context(), chat("1"), "before")
	p.must(err)
	_, err = l.Append(t.Context(), "before", append(drafts("r0"), turnlog.Draft{Run: "r0", Message: "ar0", Event: event.End{Finish: event.FinishStop}})...)
	p.must(err)
	b, err := db.Bind(t.Context(), chat("1"), "c")
	p.must(err)
	_, err = db.Bind(t.Context(), chat("2"), "empty")
	p.must(err)
	_, err = l.Append(t.Context(), "c", drafts("r1")...)
	p.must(err)
	_, err = db.Bind(t.Context(), chat("3"), "silent")
	p.must(err)
	_, err = l.Append(t.Context(), "silent", drafts("r2")...)
	p.must(err)
	post := func(b delivery.Binding, name string, run id.Run, state delivery.State) delivery.Placement {
		return delivery.Placement{
			Post: name, Binding: b.ID, Run: run, Item: name, Seq: 2, State: state, PlatformID: "id" + name,
			Body: &surface.Post{ID: name, Text: "text"},
		}
	}
	edited := post(b, "edited", "r1", delivery.Delivered)
	edited.EditTo = 9
	again := post(b, "again", "r1", delivery.Planned)
	again.Again = true
	for _, c := range []delivery.Change{
		{Binding: older.ID, Place: []delivery.Placement{post(older, "older", "r0", delivery.InFlight)}},
		{Binding: b.ID, Pace: &delivery.Pace{Interval: time.Second}, Place: []delivery.Placement{
			post(b, "planned", "r1", delivery.Planned), post(b, "flying", "r1", delivery.InFlight), edited, again,
			post(b, "refused", "r1", delivery.Refused), post(b, "line", "", delivery.Planned),
		}},
	} {
		c.Address = chat("1")
		p.must(db.Save(t.Context(), c))
	}
	for _, m := range []delivery.Inbound{
		{ID: "1", State: delivery.InboundWaiting, Text: "hi"}, {ID: "2", State: delivery.InboundTaken, Run: "r1", Text: "hi"},
	} {
		m.Delivery, m.Address = "d"+m.ID, chat("1")
		p.must(db.AddInbound(t.Context(), m))
	}
	p.must(db.SetMark(t.Context(), "s", "offset", "77"))
}

// After a restore nothing is shown or run again: what chats were shown after the
// backup was made, nobody knows.
func TestChatsBeginAnewAfterARestore(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	l := logOver(t, db)
	atWork(t, db, l)
	file, dir := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "data")
	if err := db.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := store.Restore(t.Context(), file, dir, store.RestoreOptions{Now: func() time.Time { return now }}); err != nil {
		t.Fatal(err)
	}
	restored := mustOpen(t, dir)
	if restored.Epoch() == db.Epoch() {
		t.Error("it is the same life")
	}
	for range 2 {
		beganAnew(t, restored)
		if err := restored.Check(t.Context()); err != nil {
			t.Error(err)
		}
		restored = reopened(t, restored, dir)
	}
	// The copied database goes on as it was.
	if saved, err := db.Lane(t.Context(), chat("1")); err != nil || len(saved.Bindings) != 2 || len(saved.Place) != 7 {
		t.Errorf("%+v, %v", saved, err)
	}
	// What was at work can be asked for by a person, and ends again.
	unsure, err := restored.Unsure(t.Context(), chat("1"))
	if err != nil || len(unsure) != 4 {
		t.Fatalf("%d posts can be asked for, %v", len(unsure), err)
	}
	p := unsure[0]
	p.State, p.Again = delivery.Planned, true
	save := func() {
		t.Helper()
		if err := restored.Save(t.Context(), delivery.Change{Address: chat("1"), Place: []delivery.Placement{p}}); err != nil {
			t.Fatal(err)
		}
	}
	save()
	if saved, err := restored.Lane(t.Context(), chat("1")); err != nil || len(saved.Place) != 1 {
		t.Errorf("asked for: %+v, %v", saved, err)
	}
	p.State, p.Again, p.Body = delivery.Delivered, false, nil
	save()
	beganAnew(t, restored)
}

func beganAnew(t *testing.T, db *store.DB) {
	t.Helper()
	for name, want := range map[string]delivery.Binding{"1": {Conversation: "c", From: 2, Done: 2}, "2": {Conversation: "empty"}, "3": {Conversation: "silent", From: 2, Done: 2}} {
		saved, err := db.Lane(t.Context(), chat(name))
		if err != nil || len(saved.Bindings) != 1 {
			t.Fatalf("chat %s: %+v, %v", name, saved, err)
		}
		b := saved.Bindings[0]
		want.ID, want.Address = b.ID, chat(name)
		if d := cmp.Diff(want, b); d != "" || b.ID < 5 {
			t.Errorf("binding of chat %s (-want +got):\n%s", name, d)
		}
		if len(saved.Place) != 0 || saved.LastID != "" {
			t.Errorf("chat %s has something to do: %+v", name, saved)
		}
	}
	states := map[string]delivery.State{}
	for _, run := range []id.Run{"r0", "r1", "r2"} {
		receipts, err := db.Receipts(t.Context(), run)
		if err != nil || len(receipts) != 1 || !receipts[0].Finished {
			t.Errorf("receipts of %s: %+v, %v", run, receipts, err)
		}
		for _, r := range receipts {
			for _, p := range r.Place {
				states[p.Post] = p.State
				if p.State == delivery.Unknown && (p.Error == "" || p.Body == nil) && p.Post != "planned" {
					t.Errorf("%+v", p)
				}
			}
		}
	}
	delete(states, "planned") // a person asks for it in the end
	want := map[string]delivery.State{
		"older": delivery.Unknown, "flying": delivery.Unknown, "edited": delivery.Delivered, "again": delivery.Unknown, "refused": delivery.Refused,
	}
	if d := cmp.Diff(want, states); d != "" {
		t.Errorf("posts (-want +got):\n%s", d)
	}
	open, err := db.OpenInbound(t.Context())
	if len(open) != 0 || err != nil {
		t.Errorf("messages are open: %+v, %v", open, err)
	}
	m, ok, err := db.Received(t.Context(), "s", "1", "2")
	wantMail := delivery.Inbound{Delivery: "d2", Address: chat("1"), ID: "2", Run: "r1", State: delivery.InboundDone}
	if d := cmp.Diff(wantMail, m, cmpopts.EquateEmpty()); d != "" || !ok || err != nil {
		t.Errorf("%v, %v (-want +got):\n%s", ok, err, d)
	}
	if mark, err := db.Mark(t.Context(), "s", "offset"); mark != "" || err != nil {
		t.Errorf("the mark is %q, %v", mark, err)
	}
}

// What a restore takes out of the posts is gone from the file, so that an erasure
// afterwards finds all there is.
func TestErasedAfterARestoreIsNowhere(t *testing.T) {
	db := mustOpen(t, t.TempDir())
	l := logOver(t, db)
	p := newPoster(t, db, l)
	_, err := l.Append(t.Context(), "whole", turnlog.Draft{Event: event.UserMessage{Message: "q", Text: marker}})
	p.must(err)
	b, err := db.Bind(t.Context(), chat("1"), "whole")
	p.must(err)
	// With a file the copy would be written anew.
	change := delivery.Change{Address: chat("1"), Binding: b.ID}
	for _, size := range []int{10, 900, 9000, 90_000} {
		post := fmt.Sprint("p", size)
		change.Place = append(change.Place, delivery.Placement{
			Post: post, State: delivery.Delivered, Seq: 1, Body: &surface.Post{Text: strings.Repeat(marker, size/len(marker)+1)},
		})
	}
	p.must(db.Save(t.Context(), change))
	file, dir := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "data")
	p.must(db.Backup(t.Context(), file))
	p.must(store.Restore(t.Context(), file, dir, store.RestoreOptions{}))
	restored := mustOpen(t, dir)
	log := logOver(t, restored)
	if len(where(t, dir)) == 0 {
		t.Fatal("the marker was never there")
	}
	_, err = log.Erase(t.Context(), "whole", turnlog.Erasure{Through: 1})
	p.must(err)
	scrub(t, restored)
	if found := where(t, dir); len(found) > 0 {
		t.Errorf("the marker is still there: %q", found)
	}
}
