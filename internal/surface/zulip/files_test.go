package zulip

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/surface"
)

func TestFilesComeWithTheirMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		defer s.listen(s.surface())()
		m := from(iago, direct, "look")
		m.Files = []surface.File{{Name: "déjà vu.txt", MIME: "text/plain; charset=utf-8", Data: []byte("words")}}
		s.say(m)
		got := s.in.Taken()[0]
		if len(got.Files) != 1 || got.Files[0].Name != "déjà-vu.txt" || got.Files[0].MIME != "text/plain" || string(got.Files[0].Data) != "words" {
			t.Errorf("the files are %+v, refused %q", got.Files, got.Refused)
		}
		if !strings.HasPrefix(got.Text, "look\n[déjà vu.txt](/user_uploads/") {
			t.Errorf("the text is %q", got.Text)
		}
	})
}

func TestFilesThatCanNotBeHadAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		m := from(iago, direct, "look")
		for i, data := range [][]byte{[]byte("a"), bytes.Repeat([]byte("b"), maxFileBytes), bytes.Repeat([]byte("c"), maxFileBytes+1), []byte("lost"), []byte("e"), []byte("f")} {
			m.Files = append(m.Files, surface.File{Name: fmt.Sprintf("f%d.txt", i), Data: data})
		}
		stop := s.listen(s.surface())
		stop()
		s.server.Say(m)
		for at, data := range s.server.Uploads() {
			if data == "lost" {
				s.server.Lose(at)
			}
		}
		defer s.listen(s.surface())()
		got := s.in.Taken()[0]
		var names []string
		for _, f := range got.Files {
			names = append(names, f.Name)
		}
		if !slices.Equal(names, []string{"f0.txt", "f1.txt", "f4.txt"}) {
			t.Errorf("the files are %q", names)
		}
		for i, want := range []string{"f2.txt: it is larger than 2 MiB", "f3.txt: the server does not give it: Zulip answered 404", "f5.txt: a message brings at most 5 files"} {
			if i >= len(got.Refused) || !strings.HasPrefix(got.Refused[i], want) {
				t.Fatalf("refused are %q", got.Refused)
			}
		}
	})
}

func TestOnlyFilesOfTheServerAreFetched(t *testing.T) {
	b := &bot{}
	var err error
	if b.site, err = siteOf("https://chat.example.org/"); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, text string
		want       []string
	}{
		{"a link", "see [a](/user_uploads/2/ab/a.txt).", []string{"2/ab/a.txt"}},
		{"a bare path at the end of a sentence", "/user_uploads/2/ab/a.txt.", []string{"2/ab/a.txt"}},
		{"the whole address", "https://chat.example.org/user_uploads/2/ab/a.txt", []string{"2/ab/a.txt"}},
		{"twice the same", "(/user_uploads/2/a) (/user_uploads/2/a)", []string{"2/a"}},
		{"in other letters", "(/user_uploads/2/ab/%D0%B9%20x.txt)", []string{"2/ab/й x.txt"}},
		{"another server's", "https://evil.example/user_uploads/2/ab/a.txt", nil},
		{"up and away", "(/user_uploads/2/../../api/v1/users/me)", nil},
		{"up and away in disguise", "(/user_uploads/2/%2e%2e/%2e%2e/x)", nil},
		{"a thumbnail", "(/user_uploads/thumbnail/2/ab/a.png/840x560.webp)", nil},
		{"words", "the folder /user_uploads/ is full", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := b.filesIn(c.text); !slices.Equal(got, c.want) {
				t.Errorf("it links to %q", got)
			}
		})
	}
}

func TestAFileIsAskedForAgainWhileTheServerFails(t *testing.T) {
	for name, c := range map[string]struct {
		at    string
		times int
		files int
	}{
		"the address, twice":            {"/api/v1/user_uploads", 2, 1},
		"the address, again and again":  {"/api/v1/user_uploads", 9, 0},
		"the contents, twice":           {"/user_uploads/temporary", 2, 1},
		"the contents, again and again": {"/user_uploads/temporary", 9, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, nil)
				s.failing(c.at, c.times, answers(502, nil, "<html>"))
				defer s.listen(s.surface())()
				m := from(iago, direct, "look")
				m.Files = []surface.File{{Name: "a.txt", Data: []byte("words")}}
				s.server.Say(m)
				<-time.After(time.Minute)
				got := s.in.Taken()
				if len(got) != 1 || len(got[0].Files) != c.files || len(got[0].Refused) != 1-c.files {
					t.Errorf("what came is %+v", got)
				}
			})
		})
	}
}
