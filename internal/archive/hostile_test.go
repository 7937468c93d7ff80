package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"verbatim/internal/archive"
	"verbatim/internal/golden"
	"verbatim/internal/transcript"
)

// sealed makes a file of conversations' lines, with the sums that belong to them.
func sealed(conversations ...string) string {
	file := "{\"format\":\"verbatim-export\",\"version\":1}\n"
	for _, c := range conversations {
		name := strings.Split(c, `"`)[3]
		records := strings.Count(c, "\n{\"conversation\":")
		sum := sha256.Sum256([]byte(c))
		file += c + fmt.Sprintf("{\"close\":%q,\"records\":%d,\"sha256\":%q}\n", name, records, hex.EncodeToString(sum[:]))
	}
	sum := sha256.Sum256([]byte(file))
	return file + fmt.Sprintf("{\"conversations\":%d,\"sha256\":%q}\n", len(conversations), hex.EncodeToString(sum[:]))
}

func asked(c, run string) string {
	return fmt.Sprintf(`{"open":"%[1]s"}
{"conversation":"%[1]s","seq":1,"at":"2026-01-02T03:04:05.100Z","event":"user_message","message_id":"m_%[2]s","text":"Hi","via":{"surface":"web"}}
{"conversation":"%[1]s","seq":2,"at":"2026-01-02T03:04:05.200Z","event":"start","run_id":"%[2]s","msg_id":"a_%[2]s","model":"test/model","version":1}
{"conversation":"%[1]s","seq":3,"at":"2026-01-02T03:04:05.600Z","event":"error","run_id":"%[2]s","msg_id":"a_%[2]s","kind":"internal","code":"","message":"No.","retryable":true}
`, c, run)
}

// A file that was made or changed by hand can't bring in what could not have
// happened; what is well beside it is imported.
func TestHostile(t *testing.T) {
	good := asked("good", "r_good")
	with := func(old, new string) string { return strings.Replace(asked("bad", "r_bad"), old, new, 1) }
	blob := func(data, sum string, size int) string {
		return with("{\"conversation\":\"bad\",\"seq\":1",
			fmt.Sprintf("{\"blob\":\"b_aaaaaaaaaaaaaaaaaaaaaaaaaa\",\"size\":%d,\"sha256\":%q}\n{\"data\":%q}\n{\"conversation\":\"bad\",\"seq\":1", size, sum, data))
	}
	const a = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
	const refused, done = "bad refused 0 ", "good imported 3 \n"
	tests := []struct{ name, file, want string }{
		{"nothing wrong", sealed(good), done},
		{"empty", "", "error: not a file that can be imported: it is empty"},
		{"words", "hello", "error: not a file that can be imported: it is neither"},
		{"another version", strings.Replace(sealed(good), `"version":1`, `"version":2`, 1), "error: not a file that can be imported: it is of version 2, this program reads version 1"},
		{"a gap", sealed(with(`"seq":2`, `"seq":7`), good), refused + "it does not hold together"},
		{"time goes back", sealed(with("05.600Z", "04.600Z"), good), refused + "line 5: 3 error: time goes back\n" + done},
		{"no start", sealed(with(`"event":"start"`, `"event":"delta"`), good), refused},
		{"another conversation's record", sealed(with(`{"conversation":"bad","seq":2`, `{"conversation":"good","seq":2`), good), refused + "line 4 is no record of this conversation\n" + done},
		{"no JSON", sealed(with(`{"conversation":"bad","seq":2`, `{"conversation":`), good), refused + "line 4 is no record"},
		{"a name that is none", sealed(strings.ReplaceAll(asked("bad", "r_bad"), `"bad"`, `"../bad"`), good), " refused 0 line 2 names no conversation\n" + done},
		{"a run id that is none", sealed(strings.ReplaceAll(asked("bad", "r_bad"), `"r_bad"`, `"r/bad"`), good), refused + "line 4: an id that is none"},
		{"a run id twice", sealed(good, strings.ReplaceAll(asked("bad", "r_bad"), `"r_bad"`, `"r_good"`)), done + refused + "another conversation has a run of the same id\n"},
		{"no records", sealed("{\"open\":\"bad\"}\n", good), refused + "it has no records\n" + done},
		{"twice in one file", sealed(good, good), done + "good unchanged 0 \n"},
		{"twice and different", sealed(good, strings.Replace(good, "Hi", "Ho", 1)), done + "good refused 0 a conversation of this id is here already and is another from record 1 on; yours is kept\n"},
		{"a blob that nothing refers to", sealed(blob("YQ==", a, 1), good), refused + "nothing refers to its blob"},
		{"a blob with another sum", sealed(blob("Yg==", a, 1), good), refused + "its blob before line 5 is damaged\n" + done},
		{"a blob of another size", sealed(blob("YQ==", a, 2), good), refused + "its blob before line 5 is damaged\n" + done},
		{"a blob that is missing", sealed(with(`"text":"Hi"`, `"text":"Hi","attachments":[{"id":"f","name":"n","mime":"m","size":1,"blob":"b_aaaaaaaaaaaaaaaaaaaaaaaaaa"}]`), good), refused + "line 3 refers to a blob"},
		{"a changed word", strings.Replace(sealed(good), "Hi", "Ho", 1), "good refused 0 it was changed or damaged on its way: the sum in line 6 is another\nerror: the file is cut short or damaged"},
		{"more after the end", sealed(good) + "{}\n", done + "error: the file is cut short or damaged: line 8 follows its last line and begins no export"},
		{"two exports", sealed(good) + sealed(asked("more", "r_more")), done + "more imported 3 \n"},
		{"a line without an end", strings.TrimSuffix(sealed(good), "\n"), done + "error: the file is cut short or damaged: line 7 has no end"},
		{"a line that is too long", "{\"format\":\"verbatim-export\",\"version\":1}\n{\"open\":\"" + strings.Repeat("a", archive.MaxLine), "error: the file is cut short or damaged: line 2 has more than 16777216 bytes"},
		{"unknown kinds stay", sealed(with(`"event":"error"`, `"event":"from_the_future"`)), "bad imported "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := inMemory(t)
			if got := p.imports(t, test.file); !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
			if got := p.records(t, "bad"); len(got) > 0 && test.name != "unknown kinds stay" || p.blobsLeft(t) > 0 {
				t.Errorf("%d records and %d blobs are left", len(got), p.blobsLeft(t))
			}
		})
	}
}

// The desktop product's files: every word is shown, the chosen version is, and
// the same file again changes nothing.
func TestChats(t *testing.T) {
	file, err := os.ReadFile("testdata/chats.json")
	if err != nil {
		t.Fatal(err)
	}
	p := newPlace(t)
	var out bytes.Buffer
	out.WriteString(p.imports(t, string(file)))
	infos, err := p.Import(t.Context(), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range infos.Conversations {
		if o.State == archive.Refused {
			continue
		}
		if o.State != archive.Unchanged {
			t.Errorf("the second import: %v", o)
		}
		records := p.records(t, o.ID)
		for _, broken := range transcript.Check(records) {
			t.Errorf("%s: %s", o.ID, broken)
		}
		state, err := transcript.Fold(records)
		if err != nil {
			t.Fatal(err)
		}
		show(&out, state)
	}
	golden.File(t, "testdata/chats.txt", out.Bytes())
	exported, to := p.export(t), newPlace(t)
	if got := to.imports(t, exported); strings.Contains(got, "refused") || to.export(t) != exported {
		t.Errorf("what was imported does not come through an export: %s", got)
	}
}

func show(out *bytes.Buffer, c *transcript.Conversation) {
	fmt.Fprintf(out, "\n%s %q project %q updated %s\n", c.ID, c.Title, c.Project, c.Updated.Format("2006-01-02T15:04:05.000Z"))
	for _, row := range c.Rows() {
		if row.Role == transcript.RoleUser {
			fmt.Fprintf(out, "  user %q\n", row.Turn.User.Text)
			continue
		}
		count, active := row.Turn.VersionCount()
		fmt.Fprintf(out, "  assistant %d of %d %s %q\n", active+1, count, row.Turn.Active().Status, row.Turn.Active().Content())
	}
}

// A chat whose file breaks off is not imported; those before it are.
func TestChatsCut(t *testing.T) {
	const one = `{"id":"one","messages":[{"role":"user","content":"Hi"}]}`
	for file, want := range map[string]string{
		"[" + one + "," + one[:30]: "one imported 3 \nerror: the file is cut short or damaged",
		"[" + one:                  "one imported 3 \nerror: the file is cut short or damaged",
		"[" + one + "] x":          "one imported 3 \nerror: the file is cut short or damaged",
		one + "\n" + one:           "one imported 3 \none unchanged 0 \n",
		one + "]":                  "one imported 3 \nerror: the file is cut short or damaged",
		one + one[:9]:              "one imported 3 \nerror: the file is cut short or damaged",
		" \n":                      "error: not a file that can be imported",
		"[]":                       "",
		"[1]":                      " refused 0 it is no chat",
		`{"id":"e","messages":[]}`: "e refused 0 it has no messages\n",
		`{"id":"e","messages":[{"role":"user"}]}`:                 "e refused 0 its message 1 is none of a user or an assistant with a text\n",
		`{"id":"e","messages":[{"role":"system","content":"x"}]}`: "e refused 0 its message 1",
	} {
		p := inMemory(t)
		if got := p.imports(t, file); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s\ngot  %s\nwant %s", file, got, want)
		}
	}
}

// FuzzImport: whatever a file says, what is in the log afterwards holds together
// and comes back from an export.
func FuzzImport(f *testing.F) {
	f.Add(sealed(asked("a", "r_a")))
	f.Add(sealed(asked("a", "r_a"), asked("b", "r_b")))
	f.Add(`[{"id":"x","title":"T","updated":1700000000,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","versions":["c","b"],"active":1}]}]`)
	// One place for all inputs: most conversations are refused or here already.
	p := inMemory(f)
	f.Fuzz(func(t *testing.T, file string) {
		done, _ := p.Import(t.Context(), strings.NewReader(file))
		for _, o := range done.Conversations {
			if o.State != archive.Done {
				continue
			}
			records := p.records(t, o.ID)
			if broken := transcript.Check(records); len(broken) > 0 || len(records) != o.Records {
				t.Fatalf("%s has %d records of %d: %v", o.ID, len(records), o.Records, broken)
			}
			state, err := transcript.Fold(records)
			if err != nil || state.Open() != nil {
				t.Fatalf("%s: %v, open %v", o.ID, err, state.Open())
			}
			if len(state.Rows()) > 0 {
				if got := p.imports(t, p.export(t, o.ID)); got != string(o.ID)+" unchanged 0 \n" {
					t.Fatalf("its own export: %s", got)
				}
			}
		}
	})
}
