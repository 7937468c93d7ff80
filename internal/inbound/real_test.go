package inbound_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/approval"
	"verbatim/internal/blob"
	"verbatim/internal/chat"
	"verbatim/internal/delivery"
	"verbatim/internal/inbound"
	"verbatim/internal/store"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// A day in a chat over the product's own database, which is closed in the middle
// of it and opened again.
func TestOverTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, bench, answers := t.TempDir(), &workbench{}, &model{}
		open := func() (*inbound.Inbox, *store.DB, *turnlog.Log, *approval.Desk, func()) {
			db, err := store.Open(dir, store.Options{BallastBytes: -1})
			if err != nil {
				t.Fatal(err)
			}
			blobs, err := blob.Open(filepath.Join(dir, "blobs"))
			if err != nil {
				t.Fatal(err)
			}
			log := turnlog.New(db, turnlog.Options{})
			desk := approval.New(approval.Options{
				Store: log, Rules: db,
				Policy: func(context.Context) (approval.Mode, time.Duration) { return approval.ModeAsk, time.Minute },
			})
			service := chat.New(chat.Options{
				Log: log, Blobs: blobs, Tools: bench, Approvals: desk,
				Choose: func(context.Context, chat.Want) (chat.Choice, error) {
					return chat.Choice{Model: answers, Name: "test/m"}, nil
				},
			})
			if err := service.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			in, err := inbound.New(inbound.Options{
				Surface: "phone", MayTalk: []string{"1"}, Store: db, Chat: service, Log: log, Desk: desk, Blobs: blobs,
				Say:   func(context.Context, delivery.Address, string, string) error { return nil },
				Again: func(context.Context, delivery.Address) (int, error) { return 0, nil },
				Model: func(context.Context, string) (string, error) { return "test/m", nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := in.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			return in, db, log, desk, func() {
				in.Close()
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				_ = service.Stop(ctx)
				if err := log.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		receive := func(in *inbound.Inbox, m surface.Message) surface.Ack {
			ack, err := in.Receive(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			return ack
		}
		rest := func() {
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		in, _, _, desk, end := open()
		receive(in, withFile(from(ann, "m1", "one"), "a.txt"))
		receive(in, from(ann, "m2", "two"))
		rest()
		receive(in, from(ann, "m3", "run ls"))
		rest()
		receive(in, from(ann, "m4", "/allow "+code(desk.Pending()[0].Approval)))
		rest()
		receive(in, from(ann, "m5", "/new"))
		first := receive(in, from(ann, "m6", "three"))
		end()

		in, db, log, _, end := open()
		defer end()
		rest()
		if again := receive(in, from(ann, "m6", "three")); again.Delivery != first.Delivery {
			t.Errorf("acks %+v and %+v", first, again)
		}
		receive(in, from(ann, "m7", "four"))
		rest()
		time.Sleep(time.Minute)
		w := &world{t: t, log: log}
		w.wantTurns("phone.100", "one\ntwo [f1 a.txt]", "run ls")
		w.wantTurns("phone.100.1", "three", "four")
		if bench.did() != "ls" {
			t.Errorf("it did %q", bench.did())
		}
		if left, err := db.OpenInbound(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("open: %+v, %v", left, err)
		}
	})
}
