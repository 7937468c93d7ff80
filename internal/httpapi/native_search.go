package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"verbatim/internal/id"
	"verbatim/internal/search"
)

type textPage struct {
	Hits []foundText `json:"hits"`
	Next *string     `json:"next"`
}

// foundText is a text that has the words.
type foundText struct {
	Conversation id.Conversation `json:"conversation"`
	Title        string          `json:"title"`
	Message      id.Message      `json:"message_id"`
	// Run is null for a question, Call for all but the output of a tool.
	Run  *id.Run  `json:"run_id"`
	Call *id.Call `json:"call_id"`
	// Role is user, assistant or tool.
	Role string `json:"role"`
	// Seq is that of the record that completed the text; Turn that of its
	// question.
	Seq  int64  `json:"seq"`
	Turn int64  `json:"turn_seq"`
	At   string `json:"at"`
	// Snippet is a piece of the text as it stands there, from SnippetAt on;
	// Ranges are where the words are in it. All are in bytes of UTF-8.
	Snippet   string   `json:"snippet"`
	SnippetAt int      `json:"snippet_at"`
	Ranges    [][2]int `json:"ranges"`
}

func (a *API) searchTexts(w *reply, e *entry) error {
	req, err := searchRequest(queryOf(e))
	if err != nil {
		return err
	}
	page, err := a.opt.Search.Search(e.Context(), req)
	if err != nil {
		return err
	}
	out := textPage{Hits: make([]foundText, 0, len(page.Hits))}
	for _, h := range page.Hits {
		out.Hits = append(out.Hits, newFound(h))
	}
	if page.Next > 0 {
		out.Next = new(strconv.FormatInt(page.Next, 36))
	}
	return writeJSON(w, http.StatusOK, out)
}

func searchRequest(q query) (search.Request, error) {
	var req search.Request
	text, err := q.text("q")
	if err != nil {
		return req, err
	}
	if text == nil {
		return req, problem(Invalid, "?q= is missing; it holds the words.")
	}
	if utf8.RuneCountInString(*text) > search.MaxQueryRunes {
		return req, problem(Invalid, fmt.Sprintf("?q= may have at most %d characters.", search.MaxQueryRunes))
	}
	req.Text = *text
	if req.Limit, err = q.limit(); err != nil {
		return req, err
	}
	if req.Ranked, err = q.is("ranked", false); err != nil {
		return req, err
	}
	if req.Tools, err = q.is("tools", false); err != nil {
		return req, err
	}
	if req.Project, err = q.text("project"); err != nil {
		return req, err
	}
	if err := searchPlace(q, &req); err != nil {
		return req, err
	}
	if req.Ranked && req.Before > 0 {
		return req, problem(Invalid, "A ranked search has one page; ask without ?cursor=.")
	}
	return req, nil
}

// searchPlace reads where to look, and where to go on.
func searchPlace(q query, req *search.Request) error {
	c, err := q.text("conversation")
	if err != nil {
		return err
	}
	if c != nil && !id.Valid(*c) {
		return badID("?conversation=")
	}
	if c != nil {
		req.Conversation = id.Conversation(*c)
	}
	cursor, err := q.text("cursor")
	if err != nil || cursor == nil {
		return err
	}
	req.Before, err = strconv.ParseInt(*cursor, 36, 64)
	if err != nil || strconv.FormatInt(req.Before, 36) != *cursor || req.Before < 1 {
		return badCursor()
	}
	return nil
}

func newFound(h search.Hit) foundText {
	f := foundText{
		Conversation: h.Conversation, Title: h.Title, Message: h.Message, Role: roleOf(h.Role),
		Seq: h.Seq, Turn: h.Turn, At: h.At.UTC().Format(timeForm),
		Snippet: h.Snippet.Text, SnippetAt: h.Snippet.At, Ranges: [][2]int{},
	}
	if h.Run != "" {
		f.Run = &h.Run
	}
	if h.Call != "" {
		f.Call = &h.Call
	}
	for _, r := range h.Snippet.Ranges {
		f.Ranges = append(f.Ranges, [2]int{r.Start, r.End})
	}
	return f
}

// timeForm is RFC 3339 with milliseconds.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

func roleOf(r search.Role) string {
	switch r {
	case search.RoleAnswer:
		return "assistant"
	case search.RoleOutput:
		return "tool"
	default:
		return "user"
	}
}
