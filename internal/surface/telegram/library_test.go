package telegram_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"github.com/google/go-cmp/cmp"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
	"verbatim/internal/surface/telegram/telegramfake"
)

// TestTheLibraryOfOthersFindsTheFakeATelegram: the far end of these tests is not
// made to fit our own client. A client library that many bots use, and that knows
// nothing of it, sends, edits, presses, fetches files and receives through it.
func TestTheLibraryOfOthersFindsTheFakeATelegram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := telegramfake.New(token, "verbatim_bot")
		far.Open(private)
		net := surfacetest.NewNet(t, far)
		var mu sync.Mutex
		var got []string
		b, err := bot.New(token,
			bot.WithServerURL("http://api.example"), bot.WithHTTPClient(50*time.Second, net.Client(t)),
			bot.WithNotAsyncHandlers(), bot.WithErrorsHandler(func(error) {}),
			bot.WithDefaultHandler(func(ctx context.Context, b *bot.Bot, u *models.Update) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, heard(ctx, t, b, net.Client(t), u))
			}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { b.Start(ctx); close(done) }()
		end := func() { stop(); <-done }
		defer end()

		libraryWrites(t, b, far)
		ann := surface.Person{ID: "815", Name: "Ann"}
		id := far.Say(surface.Message{Chat: private, Sender: ann, Text: "hello"})
		after(time.Second)
		far.Rewrite(private, id, "hello again")
		after(time.Second)
		far.Say(surface.Message{Chat: private, Sender: ann, Text: "a file", Files: []surface.File{{Name: "a.txt", Data: []byte("words")}}})
		far.Press(private, far.Posts(private)[0].ID, "yes", ann)
		after(time.Minute)
		end()
		want := []string{"message hello", "edit hello again", "file a.txt: words", "press yes"}
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the library heard (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"thanks"}, far.Told()); diff != "" {
			t.Errorf("who pressed was told (-want +got):\n%s", diff)
		}
	})
}

// libraryWrites sends and edits, and has each of Telegram's errors told.
func libraryWrites(t *testing.T, b *bot.Bot, far *telegramfake.Fake) {
	t.Helper()
	ctx := t.Context()
	keys := &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: "Yes", CallbackData: "yes"}}}}
	m, err := b.SendMessage(ctx, &bot.SendMessageParams{ChatID: 815, Text: "<b>one</b> &amp; two", ParseMode: models.ParseModeHTML, ReplyMarkup: keys})
	if err != nil || m.Text != "one & two" || len(m.Entities) != 1 || m.Entities[0].Type != models.MessageEntityTypeBold {
		t.Fatalf("%q, %v", m.Text, err)
	}
	edit := &bot.EditMessageTextParams{ChatID: 815, MessageID: m.ID, Text: "three", ReplyMarkup: keys}
	if _, err := b.EditMessageText(ctx, edit); err != nil {
		t.Error(err)
	}
	if _, err := b.EditMessageText(ctx, edit); !errors.Is(err, bot.ErrorBadRequest) || !strings.Contains(err.Error(), "not modified") {
		t.Errorf("the same once more: %v", err)
	}
	if _, err := b.SendMessage(ctx, &bot.SendMessageParams{ChatID: 815, Text: "<x>", ParseMode: models.ParseModeHTML}); !errors.Is(err, bot.ErrorBadRequest) {
		t.Errorf("a tag that is none: %v", err)
	}
	if _, err := b.SendMessage(ctx, &bot.SendMessageParams{ChatID: 1, Text: "x"}); !errors.Is(err, bot.ErrorBadRequest) {
		t.Errorf("a chat that is none: %v", err)
	}
	if ok, err := b.SendChatAction(ctx, &bot.SendChatActionParams{ChatID: 815, Action: models.ChatActionTyping}); err != nil || !ok {
		t.Errorf("typing: %v", err)
	}
	far.Next(surfacetest.Limit)
	_, err = b.SendMessage(ctx, &bot.SendMessageParams{ChatID: 815, Text: "x"})
	if limit, ok := errors.AsType[*bot.TooManyRequestsError](err); !ok || limit.RetryAfter != 2 {
		t.Errorf("a limit: %v", err)
	}
	after(2 * time.Second)
	if _, err := b.SendDocument(ctx, &bot.SendDocumentParams{ChatID: 815, Document: &models.InputFileUpload{Filename: "a.txt", Data: strings.NewReader("words")}}); err != nil {
		t.Error(err)
	}
	if posts := far.Posts(private); len(posts) != 2 || posts[0].Text != "three" || len(posts[1].Files) != 1 || posts[1].Files[0] != "a.txt: words" {
		t.Errorf("a reader sees %+v", posts)
	}
}

// heard is what the library says of an update.
func heard(ctx context.Context, t *testing.T, b *bot.Bot, client *http.Client, u *models.Update) string {
	switch {
	case u.Message != nil && u.Message.Document != nil:
		f, err := b.GetFile(ctx, &bot.GetFileParams{FileID: u.Message.Document.FileID})
		if err != nil {
			return err.Error()
		}
		resp, err := client.Get(b.FileDownloadLink(f))
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		data := make([]byte, 100)
		n, _ := resp.Body.Read(data)
		return "file " + u.Message.Document.FileName + ": " + string(data[:n])
	case u.Message != nil:
		return "message " + u.Message.Text
	case u.EditedMessage != nil:
		return "edit " + u.EditedMessage.Text
	case u.CallbackQuery != nil:
		if _, err := b.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: u.CallbackQuery.ID, Text: "thanks"}); err != nil {
			t.Error(err)
		}
		return "press " + u.CallbackQuery.Data
	default:
		return "nothing"
	}
}
