package attachment

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func in16(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func in32(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, r := range text {
		out = order.AppendUint32(out, uint32(r))
	}
	return string(out)
}

// encoded is a text in an old encoding, written by another program than ours.
func encoded(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "encodings", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// K3: the whole file is looked at, and it is read right or refused.
func TestK3TextInItsEncoding(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	straddling := strings.Repeat("x", 32_767) + "你" + strings.Repeat("好", 1000) + "\n"
	const (
		chinese = "# 读取文件\nfunc main() { // 这是一个测试,我们看看能不能读出来。\n"
		trad    = "這是一個測試,我們看看能不能讀出來。他說:「你好嗎?」"
		kanji   = "これは日本語のテストです。カタカナも漢字もあります。\n"
		hangul  = "안녕하세요. 이 파일은 한국어로 쓴 글입니다. 잘 읽을 수 있습니까?\n"
		french  = "Déjà vu : l’été dernier, où étais-tu ? « À Noël » — 20 €…\n"
		german  = "Grüße aus Österreich, schöne Straße, 5 °C, „ja“ – nein. ÜBER\n"
		russian = "Привет, мир! Это проверка кодировки: «кавычки» — тире.\n"
	)
	tests := []struct{ name, data, want string }{
		{"UTF-16LE with a mark", "\xff\xfe" + in16("héllo", le), "héllo"},
		{"UTF-16BE with a mark", "\xfe\xff" + in16("héllo 😀", be), "héllo 😀"},
		{"UTF-16LE without a mark", in16("héllo\r\n", le), "héllo\r\n"},
		{"UTF-16BE without a mark", in16("plain", be), "plain"},
		{"UTF-32LE with a mark", "\xff\xfe\x00\x00" + in32("héllo 😀", le), "héllo 😀"},
		{"UTF-32BE with a mark", "\x00\x00\xfe\xff" + in32("héllo", be), "héllo"},
		{"only a mark", "\xff\xfe", ""},
		{"UTF-8 with a mark", "\ufeffhéllo", "héllo"},
		{"UTF-8 across byte 32,768", straddling, straddling},
		{"UTF-8 with blanks at its ends", " \n è — \n\n", " \n è — \n\n"},
		{"GBK, two characters", "\xc4\xe3\xba\xc3", "你好"},
		{"GBK, source code", encoded(t, "chinese.gbk"), chinese},
		{"GB18030", encoded(t, "chinese.gb18030"), chinese + "𠀀"},
		{"GBK, far into the file", strings.Repeat("x", 100_000) + encoded(t, "chinese.gbk"), strings.Repeat("x", 100_000) + chinese},
		{"Big5", encoded(t, "chinese.big5"), trad},
		{"Shift-JIS", encoded(t, "japanese.shift-jis"), kanji},
		{"EUC-JP", encoded(t, "japanese.euc-jp"), kanji},
		{"ISO-2022-JP", encoded(t, "japanese.iso-2022-jp"), kanji},
		{"EUC-KR", encoded(t, "korean.euc-kr"), hangul},
		{"Windows-1252, French", encoded(t, "french.windows-1252"), french},
		{"Windows-1252, German", encoded(t, "german.windows-1252"), german},
		{"Windows-1252, one letter", "caf\xe9", "café"},
		{"Windows-1252, a word of one letter", "\xe8 \x97", "è —"},
		{"Windows-1252, quotes alone", "it\x92s \x93here\x94 \x96 now\x85", "it’s “here” – now…"},
		{"Windows-1251", encoded(t, "russian.windows-1251"), russian},
		{"XML that says so", encoded(t, "czech-xml.windows-1250"), "<?xml version='1.0' encoding='windows-1250'?><a>Příliš žluťoučký</a>"},
		{"HTML that says so", encoded(t, "russian-html.koi8-r"), "\n<html><meta charset=KOI8-R>\nПривет"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, err := Inspect("notes.bin", []byte(test.data))
			if err != nil {
				t.Fatal(err)
			}
			if f.Text != test.want || f.Kind != KindText || f.MIME != TypeText || string(f.Data) != test.data {
				t.Errorf("got %q (%s, %s), want %q", f.Text, f.Kind, f.MIME, test.want)
			}
		})
	}
}

// What can't be told for certain is refused rather than shown as gibberish.
func TestK3NoGibberish(t *testing.T) {
	le := binary.LittleEndian
	tests := []struct{ name, data, why string }{
		{"Czech", encoded(t, "czech.windows-1250"), "in which encoding can't be told"},
		{"Polish", encoded(t, "polish.windows-1250"), "in which encoding can't be told"},
		{"Hungarian", encoded(t, "hungarian.iso-8859-2"), "in which encoding can't be told"},
		{"Turkish", encoded(t, "turkish.windows-1254"), "in which encoding can't be told"},
		{"Russian, KOI8-R", encoded(t, "russian.koi8-r"), "in which encoding can't be told"},
		{"Russian, IBM866", encoded(t, "russian.ibm866"), "in which encoding can't be told"},
		{"Greek", encoded(t, "greek.windows-1253"), "in which encoding can't be told"},
		{"German, old Macintosh", encoded(t, "german.mac"), "in which encoding can't be told"},
		{"German, IBM850", encoded(t, "german.ibm850"), "in which encoding can't be told"},
		{"frames of IBM437", encoded(t, "frames.ibm437"), "in which encoding can't be told"},
		{"Russian, old Macintosh", encoded(t, "russian.mac"), "in which encoding can't be told"},
		{"one word of IBM850", encoded(t, "german-short.ibm850"), "in which encoding can't be told"},
		{"Big5 that could be Japanese", encoded(t, "chinese-short.big5"), "in which encoding can't be told"},
		{"two bytes", "\xba\xc3", "in which encoding can't be told"},
		{"UTF-8 cut within a character", "你好，世界你好，世界"[:28], "is damaged: most of it is UTF-8 text"},
		{"UTF-16 of odd length", "\xff\xfe" + in16("hello", le) + "x", "is neither text"},
		{"half a pair in UTF-16", "\xff\xfeh\x00\x00\xd8i\x00", "is neither text"},
		{"half a pair at the end", "\xff\xfeh\x00\x00\xd8", "is neither text"},
		{"UTF-32 beyond Unicode", "\x00\x00\xfe\xff\x00\x11\x00\x00", "is neither text"},
		{"UTF-16 with a zero", "\xff\xfeh\x00\x00\x00i\x00", "is neither text"},
		{"numbers that look like UTF-16", "h\x00\x01\x00i\x00j\x00", "is neither text"},
		{"XML that says something else", "<?xml version='1.0' encoding='utf-8'?>\xba\xc3", "in which encoding can't be told"},
		{"XML that says nonsense", "<?xml encoding='utf-16'?>\xba\xc3\xba", "in which encoding can't be told"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, err := Inspect("notes.txt", []byte(test.data))
			var refusal *Refusal
			if !errors.As(err, &refusal) || !strings.Contains(refusal.Error(), test.why) {
				t.Errorf("got %q and %v, want %q", f.Text, err, test.why)
			}
		})
	}
}

// K3: what is served for reading is UTF-8 and says so.
func TestK3ServedForReading(t *testing.T) {
	f, err := Inspect("a.txt", []byte("\xe8 \x97"))
	if err != nil || f.Text != "è —" || !utf8.ValidString(f.Text) {
		t.Errorf("got %q and %v", f.Text, err)
	}
	if ReadingType != "text/plain; charset=utf-8" {
		t.Errorf("it is served as %q", ReadingType)
	}
}

func TestFold(t *testing.T) {
	text := func(s string) File { return File{Name: "a.md", Kind: KindText, Text: s} }
	body := strings.Repeat("x", MaxFoldBytes-1)
	tests := []struct {
		name string
		file File
		want string
	}{
		{"text", text("one\ntwo\n"), "Attached file: a.md\n```\none\ntwo\n```\n"},
		{"no line break at the end", text("one"), "Attached file: a.md\n```\none\n```\n"},
		{"blanks", text(" \n"), "Attached file: a.md\n```\n \n```\n"},
		{"fences inside", text("```go\n`````\n"), "Attached file: a.md\n``````\n```go\n`````\n``````\n"},
		{"nothing", text(""), "Attached file: a.md\n(The file is empty.)\n"},
		{"as long as may be", text(body + "\n"), "Attached file: a.md\n```\n" + body + "\n```\n"},
		{"longer", text(body + "é!"), "Attached file: a.md\n```\n" + body + "\n```\n(The model is told the first 99999 of the 100002 bytes of a.md; the rest is left out.)\n"},
		{"a picture", File{Name: "a.png", Kind: KindImage}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Fold(test.file); got != test.want {
				t.Errorf("got %.300q, want %.300q", got, test.want)
			}
		})
	}
}
