package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/search"
	"verbatim/internal/turnlog"
)

// scripts are words in the forms in which people write them, the plain one
// first, and the characters of scripts that are found anywhere in a row.
var scripts = struct {
	words [][]string
	rows  []string
}{
	words: [][]string{
		{"cafe", "Café", "CAFÉ", "cafe\u0301"}, {"cafeteria", "Cafétéria"}, {"strasse", "Straße", "STRASSE"},
		{"naive", "naïve"}, {"and", "AND"}, {"or", "OR"}, {"near", "NEAR"}, {"istanbul", "İstanbul", "ISTANBUL"},
		{"елка", "Ёлка", "ёлка"}, {"ель", "Ель"}, {"οδοσ", "ὁδός", "ΟΔΟΣ"}, {"οδηγοσ", "Οδηγός"}, {"internationalisation", "Internationalisation"},
		{"internationalism", "INTERNATIONALISM"}, {"1984"}, {"19"},
	},
	rows: []string{"数", "据", "库", "人", "が", "ん", "검", "색", "어"},
}

// sentence makes a text, and what it says in plain words and rows.
func sentence(r *rand.Rand) (text string, says []string) {
	var b strings.Builder
	for range 1 + r.IntN(6) {
		b.WriteString([]string{" ", ", ", " 👍 ", "\n", ` "`, "*-"}[r.IntN(6)])
		if r.IntN(3) > 0 {
			forms := scripts.words[r.IntN(len(scripts.words))]
			b.WriteString(forms[r.IntN(len(forms))])
			says = append(says, forms[0])
			continue
		}
		row := rowOf(r, 1+r.IntN(4))
		b.WriteString(row)
		says = append(says, row)
	}
	return b.String(), says
}

func rowOf(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(scripts.rows[r.IntN(len(scripts.rows))])
	}
	return b.String()
}

// asked makes a query, and what a text must say for it.
func askedFor(r *rand.Rand) (query string, wants []string) {
	for range 1 + r.IntN(2) {
		if r.IntN(2) == 0 {
			row := rowOf(r, 1+r.IntN(3))
			query, wants = query+" "+row, append(wants, row)
			continue
		}
		forms := scripts.words[r.IntN(len(scripts.words))]
		form := forms[r.IntN(len(forms))]
		if runes := []rune(forms[0]); form == forms[0] {
			form = string(runes[:1+r.IntN(len(runes))])
			wants = append(wants, form)
		} else {
			wants = append(wants, forms[0])
		}
		query += []string{" ", ` "`, " -", " ^", " ("}[r.IntN(5)] + form + []string{"", "*", `"`, ")", ":"}[r.IntN(5)]
	}
	return query, wants
}

// matches is the model: every want begins a word, or is in a row.
func matches(says, wants []string) bool {
	for _, want := range wants {
		if !slices.ContainsFunc(says, func(s string) bool {
			return strings.HasPrefix(s, want) || strings.ContainsAny(want, strings.Join(scripts.rows, "")) && strings.Contains(s, want)
		}) {
			return false
		}
	}
	return true
}

// modelTurn is a question as the model knows it.
type modelTurn struct {
	conversation   id.Conversation
	seq            int64
	says           []string
	hidden, erased bool
}

// A search finds what looking through all texts finds, newest first, whatever
// was deleted, restored and erased in between.
func TestSearchFindsWhatAScanFinds(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 5))
			l := newLibrary(t)
			turns := map[id.Run]*modelTurn{}
			var order []id.Run
			for step := range 120 {
				switch r.IntN(12) {
				case 0, 1:
					hideOne(l, r, turns)
				case 2:
					eraseOne(l, r, turns)
				default:
					run := id.Run(fmt.Sprint("r", step))
					c := id.Conversation(fmt.Sprint("c", r.IntN(4)))
					text, says := sentence(r)
					turns[run] = &modelTurn{conversation: c, seq: l.head[c] + 1, says: says}
					order = append([]id.Run{run}, order...)
					l.ask(c, run, text)
					l.answer(c, run, "–")
				}
				compare(l, r, turns, order)
			}
			l.close()
			l.open()
			compare(l, r, turns, order)
		})
	}
}

func compare(l *library, r *rand.Rand, turns map[id.Run]*modelTurn, order []id.Run) {
	l.tb.Helper()
	for range 5 {
		query, wants := askedFor(r)
		var want []string
		for _, run := range order {
			if turn := turns[run]; !turn.hidden && !turn.erased && matches(turn.says, wants) {
				want = append(want, "q"+string(run))
			}
		}
		l.finds("scan", search.Request{Text: query, Limit: search.MaxHits}, want...)
	}
}

// pick returns a turn that is not erased, nil when there is none.
func pick(r *rand.Rand, turns map[id.Run]*modelTurn) (id.Run, *modelTurn) {
	runs := slices.Sorted(maps.Keys(turns))
	runs = slices.DeleteFunc(runs, func(run id.Run) bool { return turns[run].erased })
	if len(runs) == 0 {
		return "", nil
	}
	run := runs[r.IntN(len(runs))]
	return run, turns[run]
}

func hideOne(l *library, r *rand.Rand, turns map[id.Run]*modelTurn) {
	l.tb.Helper()
	run, turn := pick(r, turns)
	if turn == nil {
		return
	}
	if turn.hidden = !turn.hidden; turn.hidden {
		l.commit(turn.conversation, "", event.MessageDeleted{Message: "q" + id.Message(run)})
		return
	}
	l.commit(turn.conversation, "", event.MessageRestored{Message: "q" + id.Message(run)})
}

func eraseOne(l *library, r *rand.Rand, turns map[id.Run]*modelTurn) {
	l.tb.Helper()
	run, turn := pick(r, turns)
	if turn == nil {
		return
	}
	if _, err := l.db.Erase(l.tb.Context(), turn.conversation, turnlog.Erasure{Seqs: []int64{turn.seq}, Runs: []id.Run{run}}); err != nil {
		l.tb.Fatal(err)
	}
	turn.erased = true
}
