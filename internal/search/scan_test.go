package search_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/search"
)

// written shows terms as a reader would check them: a single character that
// follows another immediately has a + before it.
func written(text string) string {
	var out []string
	for t := range search.Terms(text) {
		term := t.Text
		if t.Joined {
			term = "+" + term
		}
		out = append(out, term)
	}
	return strings.Join(out, " ")
}

func TestTerms(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"no word", " \n--…!?(*)\x00", ""},
		{"case", "Hello WORLD", "hello world"},
		{"apostrophe and underscore separate", "don't snake_case", "don t snake case"},
		{"numbers", "3.14 2nd ½x", "3 14 2nd 12x"},
		{"accents", "Café CAFÉ cafe\u0301 naïve Ångström", "cafe cafe cafe naive angstrom"},
		{"letters with a stroke", "Łódź Ørsted Đorđe", "lodz orsted dorde"},
		{"ligatures", "ﬁle Ærø cœur", "file aero coeur"},
		{"sharp s", "Straße STRASSE GROẞ", "strasse strasse gross"},
		{"Turkish i", "İstanbul ISTANBUL ıstanbul istanbul", "istanbul istanbul istanbul istanbul"},
		{"Greek", "Ὀδυσσεύς ΟΔΥΣΣΕΥΣ", "οδυσσευσ οδυσσευσ"},
		{"Cyrillic", "Ёлка ЁЛКА Йод", "елка елка иод"},
		{"Hebrew points", "שָׁלוֹם שלום", "שלום שלום"},
		{"Arabic vowel signs", "مَرْحَبًا مرحبا", "مرحبا مرحبا"},
		{"Devanagari keeps its vowel signs", "हिन्दी हद", "हिन्दी हद"},
		{"full width", "Ｖｅｒｂａｔｉｍ１２", "verbatim12"},
		{"Chinese", "数据库 search", "数 +据 +库 search"},
		{"Chinese with digits", "第3章", "第 3 章"},
		{"punctuation breaks a row", "你好，世界", "你 +好 世 +界"},
		{"Japanese", "がんばれ ガンバレ", "が +ん +ば +れ ガ +ン +バ +レ"},
		{"half width kana", "ｶﾞﾝﾊﾞﾚ", "ガ +ン +バ +レ"},
		{"decomposed kana", "か\u3099", "が"},
		{"long vowels", "サーバー", "サ +ー +バ +ー"},
		{"Korean", "검색 기능", "검 +색 기 +능"},
		{"decomposed Korean", "\u1100\u1165\u11b7\u1109\u1162\u11a8", "검 +색"},
		{"Thai", "ภาษา น้ำ", "ภ +า +ษ +า น +้ +ำ"},
		{"emoji are no words", "👍🏽 ok 👩‍👩‍👧", "ok"},
		{"an accent alone", "\u0301 \u0301a", "a"},
		{"bytes that are no text", "a\xffb\xc3", "a b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, written(c.text)); d != "" {
				t.Errorf("terms (-want +got):\n%s", d)
			}
		})
	}
}

// Every character is folded to something that folding leaves alone, and is the
// same in both cases.
func TestFoldingIsStable(t *testing.T) {
	for r := range rune(0x1F200) {
		if r > 0x3400 && r < 0xA000 || r > 0xAC00 && r < 0xF900 || r > 0x11000 && r < 0x1D400 {
			continue // Han, Hangul, and scripts that are not written any more
		}
		once := written("a" + string(r))
		if again := written(strings.NewReplacer(" +", "", " ", " ").Replace(once)); again != once {
			t.Errorf("%U is folded to %q, then to %q", r, once, again)
		}
		if upper := unicode.ToUpper(r); unicode.ToLower(upper) == r && written("a"+string(upper)) != once {
			t.Errorf("%U is folded to %q, its upper case %U to %q", r, once, upper, written("a"+string(upper)))
		}
	}
}

func TestPlacesOfTerms(t *testing.T) {
	text := "Ein Cafe\u0301, ｶﾞﾝ!"
	var got []string
	for term := range search.Terms(text) {
		got = append(got, text[term.Start:term.End])
	}
	if d := cmp.Diff([]string{"Ein", "Cafe\u0301", "ｶﾞ", "ﾝ"}, got); d != "" {
		t.Errorf("places (-want +got):\n%s", d)
	}
}

// Keys are stored: another version of the program must make the same.
func TestKeysStayTheSame(t *testing.T) {
	at := search.Place{Conversation: 7}
	keys := search.Keys("Zoë's 数据库", at)
	// z zo zoe s 数 据 数据 库 据库, and the place.
	if got := len(strings.Fields(keys)); got != 10 {
		t.Errorf("%d keys, want 10", got)
	}
	const want = "b4dcfcf0e52091b3829dd82086c9c8aea620eea19e8a9f20ed8281dfd720dddbab8df620b3b8ab8bd0209097fe969a20b2a4cc89b12082e891fde4"
	if d := cmp.Diff(want, hex.EncodeToString([]byte(keys))); d != "" {
		t.Errorf("keys (-want +got):\n%s", d)
	}
	for _, key := range strings.Split(keys, " ") {
		if len(key) != 5 || strings.IndexFunc(key, func(r rune) bool { return r < utf8.RuneSelf }) >= 0 {
			t.Errorf("%q is no key", key)
		}
	}
}

func TestKeysTellPlacesApart(t *testing.T) {
	said, put := search.Keys("one", search.Place{Conversation: 1}), search.Keys("one", search.Place{Conversation: 1, Output: true})
	for _, key := range strings.Split(said, " ") {
		if strings.Contains(put, key) {
			t.Errorf("%q is a key of both", key)
		}
	}
	if search.Keys("…", search.Place{Conversation: 1}) != "" {
		t.Error("a text without words has keys")
	}
}

// A text with more different words than an index should hold is found by its
// first ones, and by its place.
func TestKeysAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "%08x ", uint32(i)*2654435761)
	}
	keys := search.Keys(b.String(), search.Place{Conversation: 7})
	if n := search.CountKeys(keys); n < search.MaxKeys || n > search.MaxKeys+10 || n != len(strings.Split(keys, " ")) {
		t.Errorf("%d keys, want %d and what completes a word", n, search.MaxKeys)
	}
	first, rest := search.CutKeys(keys, 3)
	if first+" "+rest != keys || search.CountKeys(first) != 3 {
		t.Errorf("cut into %q and %d bytes of %d", first, len(rest), len(keys))
	}
	if all, rest := search.CutKeys(first, 3); all != first || rest != "" {
		t.Errorf("cut into %q and %q", all, rest)
	}
	at := strings.Split(search.Keys("x", search.Place{Conversation: 7}), " ")
	if !strings.HasSuffix(keys, " "+at[len(at)-1]) {
		t.Error("the key of the place is missing")
	}
}
