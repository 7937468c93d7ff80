package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"slices"
	"time"

	"verbatim/internal/id"
	"verbatim/internal/search"
)

// maxLooked is how many texts that the index names are looked at for one
// answer: a few hundredths of a second.
const maxLooked = 5000

// Search returns the texts that match a request and whose turn is not deleted;
// see search.Request. What was committed before the call is found. A query
// without a word matches nothing. Several hits can belong to one turn: each
// question, each version of its answer and each call's output is a text of its
// own.
//
// It reads in one short transaction, however common the words are, and ends early
// when ctx does.
func (d *DB) Search(ctx context.Context, q search.Request) (page search.Page, err error) {
	query := search.Parse(q.Text)
	if query.Empty() {
		return search.Page{}, nil
	}
	err = d.read(ctx, func(c *conn) error {
		s := searching{ctx: ctx, conn: c, request: q, query: query, projects: map[int64]bool{}}
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		page, err = s.run()
		return errors.Join(err, c.exec("COMMIT"))
	})
	if err != nil {
		return search.Page{}, err
	}
	return page, nil
}

// searching is one search under way.
type searching struct {
	ctx      context.Context
	conn     *conn
	request  search.Request
	query    search.Query
	projects map[int64]bool // whether a conversation is in the project

	looked int
	last   int64 // the document that was looked at last
	more   bool
	found  []candidate
}

// candidate is a document that matches. What is ranked holds no text until it is
// known to be among the best.
type candidate struct {
	listed
	match search.Match
	score float64
}

const (
	selectMatches = `SELECT w.rowid, d.conv, d.seq, d.turn, d.run, d.call, d.role, d.at, d.text
	FROM words w CROSS JOIN document d ON d.id = w.rowid
	WHERE w.words MATCH ?1 AND w.rowid < ?2 ORDER BY w.rowid DESC`
	selectTexts = `SELECT w.rowid, d.text
	FROM words w CROSS JOIN document d ON d.id = w.rowid
	WHERE w.words MATCH ?1 AND w.rowid < ?2 ORDER BY w.rowid DESC`
	selectDocument = `SELECT id, conv, seq, turn, run, call, role, at, text FROM document WHERE id = ?`
)

func listedOf(row []driver.Value) listed {
	return listed{asInt(row[0]), document{
		conv: asInt(row[1]), seq: asInt(row[2]), turn: asInt(row[3]), run: asInt(row[4]), call: id.Call(asText(row[5])),
		role: search.Role(asInt(row[6])), at: asInt(row[7]), text: asText(row[8]),
	}}
}

func (s *searching) run() (search.Page, error) {
	match, err := s.expression()
	if err != nil || match == "" {
		return search.Page{}, err
	}
	before := s.request.Before
	if before <= 0 {
		before = math.MaxInt64
	}
	look, query := s.look, selectMatches
	if s.request.Ranked {
		look, query = s.rank, selectTexts
	}
	if err := s.conn.each(look, query, match, before); err != nil {
		return search.Page{}, err
	}
	if s.request.Ranked {
		err = s.best()
	}
	if err != nil {
		return search.Page{}, err
	}
	var page search.Page
	if s.more {
		page.Next = s.last
	}
	page.Hits, err = s.hits()
	return page, err
}

// expression is what the index is asked for: documents with all the keys. Keys
// are no ASCII, so nothing in them is an operator. It is empty when nothing can
// match.
func (s *searching) expression() (string, error) {
	var at search.Place
	if s.request.Conversation != "" {
		key, ok, err := s.conn.integer(selectConversation, string(s.request.Conversation))
		if err != nil || !ok {
			return "", err
		}
		at.Conversation = key
	}
	match := s.query.Keys(at)
	if s.request.Tools {
		at.Output = true
		match = "(" + match + ") OR (" + s.query.Keys(at) + ")"
	}
	return match, nil
}

// look takes a document that the index names, and reports whether more are
// wanted.
func (s *searching) look(row []driver.Value) (bool, error) {
	if err := s.ctx.Err(); err != nil {
		return false, err
	}
	if s.looked++; s.looked > maxLooked {
		s.more = true
		return false, nil
	}
	doc := listedOf(row)
	match, ok := s.query.Match(doc.text)
	if ok {
		var err error
		if ok, err = s.shown(doc); err != nil {
			return false, err
		}
	}
	// One more is looked for than is wanted, to know whether there is one.
	if ok && len(s.found) == s.request.Bounded() {
		s.more = true
		return false, nil
	}
	s.last = doc.id
	if ok {
		s.found = append(s.found, candidate{listed: doc, match: match})
	}
	return true, nil
}

// rank is look for a search that wants the best.
func (s *searching) rank(row []driver.Value) (bool, error) {
	if err := s.ctx.Err(); err != nil {
		return false, err
	}
	s.looked++
	if match, ok := s.query.Match(asText(row[1])); ok {
		s.found = append(s.found, candidate{listed: listed{id: asInt(row[0])}, score: match.Score()})
	}
	return len(s.found) < search.RankedWindow && s.looked < maxLooked, nil
}

// best leaves the best of what was found, newer ones first among equals.
func (s *searching) best() error {
	ranked := s.found
	slices.SortStableFunc(ranked, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	s.found = nil
	for _, c := range ranked {
		if len(s.found) == s.request.Bounded() {
			return nil
		}
		row, err := s.conn.first(selectDocument, c.id)
		if err != nil || row == nil {
			return err
		}
		c.listed = listedOf(row)
		shown, err := s.shown(c.listed)
		if err != nil {
			return err
		}
		if shown {
			c.match, _ = s.query.Match(c.text)
			s.found = append(s.found, c)
		}
	}
	return nil
}

// shown reports whether a document's turn is there, and where the request looks.
func (s *searching) shown(doc listed) (bool, error) {
	_, ok, err := s.conn.integer("SELECT 1 FROM turn WHERE conv = ? AND seq = ? AND deleted = 0 AND gone = 0", doc.conv, doc.turn)
	if err != nil || !ok || s.request.Project == nil {
		return ok, err
	}
	in, known := s.projects[doc.conv]
	if !known {
		project, _, err := s.conn.text("SELECT project FROM conversation WHERE id = ?", doc.conv)
		if err != nil {
			return false, err
		}
		in = project == *s.request.Project
		s.projects[doc.conv] = in
	}
	return in, nil
}

// hits makes hits of what was found.
func (s *searching) hits() ([]search.Hit, error) {
	hits := make([]search.Hit, 0, len(s.found))
	for _, f := range s.found {
		hit := search.Hit{
			Role: f.role, Call: f.call, Seq: f.seq, Turn: f.turn, At: time.UnixMilli(f.at).UTC(),
			Snippet: f.match.Snippet(f.text), Ranges: f.match.Ranges(),
		}
		if err := s.name(&hit, f); err != nil {
			return nil, err
		}
		hits = append(hits, hit)
	}
	return hits, nil
}

// name puts the names to the keys that a document has in their place.
func (s *searching) name(hit *search.Hit, f candidate) error {
	row, err := s.conn.first("SELECT cid, title FROM conversation WHERE id = ?", f.conv)
	if err != nil {
		return err
	}
	if row != nil {
		hit.Conversation, hit.Title = id.Conversation(asText(row[0])), asText(row[1])
	}
	if f.run == 0 {
		message, _, err := s.conn.text("SELECT msg_id FROM turn WHERE conv = ? AND seq = ?", f.conv, f.turn)
		hit.Message = id.Message(message)
		return err
	}
	row, err = s.conn.first("SELECT run_id, msg_id FROM run WHERE id = ?", f.run)
	if err == nil && row != nil {
		hit.Run, hit.Message = id.Run(asText(row[0])), id.Message(asText(row[1]))
	}
	return err
}
