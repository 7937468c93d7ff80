package surfacetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"verbatim/internal/surface"
)

// toy is a surface for toyFar, with a defect on purpose: see defects.
type toy struct {
	client *http.Client
	log    *slog.Logger
	defect string
	mark   string // of a toy that keeps what it has read in memory
}

const toyToken = "toy-token-77"

func newToyKit(defect string) func(t *testing.T) Kit {
	return func(t *testing.T) Kit {
		far := newToyFar()
		net, log := NewNet(t, far), NewLog()
		again := func() surface.Surface {
			return &toy{client: net.Client(t), log: log.Logger(), defect: defect}
		}
		return Kit{
			Surface: again(), Again: again, Far: far, Net: net, Log: log,
			Chat: surface.Chat{ID: "one"}, Other: surface.Chat{ID: "two"}, Person: surface.Person{ID: "u1"},
			Secrets: []string{toyToken}, TellsChange: true, TellsRemove: true,
		}
	}
}

func (y *toy) has(defect string) bool { return y.defect == defect }

func (y *toy) Caps() surface.Caps {
	return surface.Caps{
		Size: surface.Size{Max: toyLimit, Unit: surface.CodePoints},
		Edit: true, Idempotent: true, ReadBack: true, Typing: true, Buttons: true, Files: true,
	}
}

func (y *toy) Render(markdown string, _ bool) (string, int) {
	if y.has("counts bytes") {
		return markdown, len(markdown)
	}
	return markdown, utf8.RuneCountInString(markdown)
}

func (y *toy) Send(ctx context.Context, chat surface.Chat, p surface.Post) surface.Outcome {
	key := p.ID
	if y.has("makes a key of its own") {
		key += strconv.FormatInt(time.Now().UnixNano(), 10)
	}
	if y.has("mixes chats") {
		chat.ID = "one"
	}
	if y.has("cuts text") && len(p.Text) > 1000 {
		p.Text = p.Text[:1000]
	}
	o := y.call(ctx, "/send", toyPost{Key: key, Chat: chat.ID, Text: p.Text, Markup: strings.Contains(p.Text, "**")})
	if y.has("tries again") && o.Class == surface.Unknown {
		o = y.call(ctx, "/send", toyPost{Key: key, Chat: chat.ID, Text: p.Text})
	}
	return o
}

func (y *toy) Edit(ctx context.Context, chat surface.Chat, id string, p surface.Post) surface.Outcome {
	if y.has("sends for an edit") {
		return y.Send(ctx, chat, p)
	}
	return y.call(ctx, "/edit", toyPost{ID: id, Chat: chat.ID, Text: p.Text, Markup: strings.Contains(p.Text, "**")})
}

func (y *toy) Typing(ctx context.Context, _ surface.Chat) surface.Outcome {
	return y.call(ctx, "/typing", toyPost{})
}

type toyReply struct {
	OK         bool
	Code, ID   string
	RetryAfter float64 `json:"retry_after"`
	News       []toyNews
	After      int
	Posts      []toyPost
}

func (y *toy) call(ctx context.Context, path string, p toyPost) surface.Outcome {
	body, err := json.Marshal(p)
	if err != nil {
		return surface.Outcome{Class: surface.Refused, Detail: "it can't be written"}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://toy.example"+path+"?token="+toyToken, bytes.NewReader(body))
	if err != nil || ctx.Err() != nil {
		return surface.Outcome{Class: surface.NotTaken, Detail: "no time left"}
	}
	resp, err := y.client.Do(req)
	if err != nil {
		return y.failed(err)
	}
	defer resp.Body.Close()
	var r toyReply
	if json.NewDecoder(resp.Body).Decode(&r) != nil {
		if y.has("believes a gateway") {
			return surface.Outcome{Class: surface.NotTaken, Detail: "gateway"}
		}
		return surface.Outcome{Class: surface.Unknown, Detail: "the answer is not the platform's"}
	}
	if y.has("reads the status alone") && resp.StatusCode == http.StatusOK {
		r.OK = true
	}
	return y.outcome(r)
}

func (y *toy) failed(err error) surface.Outcome {
	detail := "the connection broke"
	if y.has("shows its token") {
		detail = err.Error()
	}
	if y.has("logs its token") {
		y.log.Warn("call", "err", err)
	}
	if surface.NotWritten(err) {
		return surface.Outcome{Class: surface.NotTaken, Detail: detail}
	}
	if y.has("takes a broken call for a lost one") {
		return surface.Outcome{Class: surface.NotTaken, Detail: detail}
	}
	return surface.Outcome{Class: surface.Unknown, Detail: detail}
}

func (y *toy) outcome(r toyReply) surface.Outcome {
	o := surface.Outcome{Class: surface.NotTaken, Detail: "the platform said " + r.Code}
	switch {
	case r.OK:
		return surface.Outcome{Class: surface.Delivered, PlatformID: r.ID}
	case r.Code == "limit":
		o.RetryAfter = time.Duration(r.RetryAfter * float64(time.Second))
		if y.has("waits too short") {
			o.RetryAfter -= 100 * time.Millisecond
		}
	case r.Code == "refused":
		o.Class = surface.Refused
	case r.Code == "markup":
		o.Class, o.Markup = surface.Refused, !y.has("keeps the markup")
	case r.Code == "gone":
		o.Class, o.Gone = surface.Refused, !y.has("finds nothing gone")
	}
	return o
}

func (y *toy) ask(ctx context.Context, path string, q url.Values) (toyReply, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var r toyReply
	q.Set("token", toyToken)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://toy.example"+path+"?"+q.Encode(), nil)
	if err != nil {
		return r, err
	}
	resp, err := y.client.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, &r)
	}
	if err == nil && !r.OK {
		err = errors.New(r.Code)
	}
	return r, err
}

func (y *toy) Own(ctx context.Context, chat surface.Chat, after string) ([]surface.Seen, error) {
	r, err := y.ask(ctx, "/own", url.Values{"chat": {chat.ID}})
	if err != nil {
		return nil, err
	}
	var out []surface.Seen
	for _, p := range r.Posts {
		out = append(out, surface.Seen{PlatformID: p.ID, Text: p.Text, At: p.At})
		if p.ID == after && !y.has("reads too much") {
			out = nil
		}
	}
	return out, nil
}

func (y *toy) Read(ctx context.Context, chat surface.Chat, id string) (surface.Seen, error) {
	all, err := y.Own(ctx, chat, "")
	i := slices.IndexFunc(all, func(s surface.Seen) bool { return s.PlatformID == id })
	if err == nil && i < 0 {
		err = surface.ErrGone
	}
	if err != nil {
		return surface.Seen{}, err
	}
	return all[i], nil
}

func (y *toy) Same(seen surface.Seen, text string) bool {
	if y.has("takes a beginning for the whole") {
		return strings.HasPrefix(text, seen.Text)
	}
	return strings.TrimSpace(seen.Text) == strings.TrimSpace(text)
}

func (y *toy) Listen(ctx context.Context, in surface.Inbox) error {
	for {
		err := y.round(ctx, in)
		if ctx.Err() != nil {
			if y.has("ends silently") {
				return nil
			}
			return ctx.Err()
		}
		if err != nil && y.has("gives up") {
			return err
		}
		if err != nil {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
}

func (y *toy) round(ctx context.Context, in surface.Inbox) error {
	mark, err := in.Mark(ctx, "after")
	if err != nil {
		return err
	}
	if y.has("keeps its place in memory") {
		mark = y.mark
	}
	r, err := y.ask(ctx, "/news", url.Values{"after": {mark}})
	if err != nil {
		return err
	}
	for i, n := range r.News {
		if y.has("moves on too early") {
			y.moveOn(ctx, in, r.After+i+1)
		}
		if err := y.give(ctx, in, n); err != nil {
			return err
		}
		y.moveOn(ctx, in, r.After+i+1)
	}
	if mark == "" {
		y.moveOn(ctx, in, r.After+len(r.News))
	}
	return nil
}

func (y *toy) moveOn(ctx context.Context, in surface.Inbox, after int) {
	y.mark = strconv.Itoa(after)
	in.SetMark(ctx, "after", y.mark)
}

func (y *toy) give(ctx context.Context, in surface.Inbox, n toyNews) error {
	chat, by := surface.Chat{ID: n.Chat}, surface.Person{ID: n.By}
	switch n.Kind {
	case "message":
		m := surface.Message{ID: n.ID, Chat: chat, Sender: by, Text: n.Text, At: time.Now(), Mentioned: true}
		if y.has("trims") {
			m.Text = strings.Join(strings.Fields(m.Text), " ")
		}
		if y.has("gives twice") {
			in.Receive(ctx, m)
		}
		_, err := in.Receive(ctx, m)
		return err
	case "change":
		if y.has("overlooks changes") {
			return nil
		}
		return in.Change(ctx, chat, n.ID, n.Text)
	case "remove":
		return in.Remove(ctx, chat, n.ID)
	default:
		line, err := in.Press(ctx, surface.Press{ID: n.ID, Chat: chat, Sender: by, Data: n.Text})
		if err == nil && !y.has("tells nobody of a press") {
			y.call(ctx, "/told", toyPost{Text: line})
		}
		return err
	}
}
