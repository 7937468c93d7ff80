package zulip

import (
	"testing"

	"verbatim/internal/surface"
)

func TestChatsHaveOneName(t *testing.T) {
	cases := []struct {
		name string
		at   place
		want surface.Chat
	}{
		{"a topic", place{stream: 7, topic: "a: b"}, surface.Chat{ID: "stream:7", Thread: "a: b"}},
		{"the topic without a name", place{stream: 7}, surface.Chat{ID: "stream:7"}},
		{"a person", place{people: []int64{11}}, surface.Chat{ID: "direct:11"}},
		{"a group, however it is listed", place{people: []int64{112, 11, 9, 11}}, surface.Chat{ID: "direct:9-11-112"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := c.at.chat(); got != c.want {
				t.Fatalf("it is called %+v, not %+v", got, c.want)
			}
			back, ok := parseChat(c.want)
			if !ok || back.chat() != c.want {
				t.Errorf("%+v is read as %+v, %t", c.want, back, ok)
			}
		})
	}
}

func TestOtherNamesAreNoChat(t *testing.T) {
	for _, id := range []string{"", "7", "stream:", "stream:0", "stream:-1", "stream:07", "stream:x", "direct:", "direct:3-2", "direct:2-2", "direct:2-", "user:2"} {
		if at, ok := parseChat(surface.Chat{ID: id}); ok {
			t.Errorf("%q is read as %+v", id, at)
		}
	}
	if _, ok := parseChat(surface.Chat{ID: "direct:2", Thread: "x"}); ok {
		t.Error("a direct conversation has no topic")
	}
}

func FuzzParseChat(f *testing.F) {
	for _, seed := range []string{"stream:7", "direct:1-2", "direct:01", "stream:99999999999999999999"} {
		f.Add(seed, "t")
	}
	f.Fuzz(func(t *testing.T, id, thread string) {
		c := surface.Chat{ID: id, Thread: thread}
		if at, ok := parseChat(c); ok && at.chat() != c {
			t.Fatalf("%+v is read as %+v", c, at)
		}
	})
}
