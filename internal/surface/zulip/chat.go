package zulip

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"verbatim/internal/surface"
)

// place is a chat in Zulip's terms: a topic of a channel, or the people of a
// direct conversation without the bot.
type place struct {
	stream int64
	topic  string
	people []int64
}

// noTopic is how a message to the topic without a name is addressed
// (https://zulip.com/api/send-message#parameter-topic).
const noTopic = "(no topic)"

const (
	streamPrefix = "stream:"
	directPrefix = "direct:"
)

// chat is the name of a place: "stream:<id>" with the topic as thread, or
// "direct:<ids>", sorted and joined by "-".
func (p place) chat() surface.Chat {
	if p.stream != 0 {
		return surface.Chat{ID: streamPrefix + strconv.FormatInt(p.stream, 10), Thread: p.topic}
	}
	ids := make([]string, 0, len(p.people))
	for _, id := range slices.Compact(slices.Sorted(slices.Values(p.people))) {
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	return surface.Chat{ID: directPrefix + strings.Join(ids, "-")}
}

// parseChat is the other way; only names that chat makes are ones.
func parseChat(c surface.Chat) (place, bool) {
	if text, found := strings.CutPrefix(c.ID, streamPrefix); found {
		id, ok := parseID(text)
		return place{stream: id, topic: c.Thread}, ok
	}
	text, found := strings.CutPrefix(c.ID, directPrefix)
	if !found || c.Thread != "" {
		return place{}, false
	}
	var p place
	for one := range strings.SplitSeq(text, "-") {
		id, ok := parseID(one)
		if !ok || len(p.people) > 0 && id <= p.people[len(p.people)-1] {
			return place{}, false
		}
		p.people = append(p.people, id)
	}
	return p, true
}

// parseID reads an id as Zulip writes it: above 0, no sign, no zero in front.
func parseID(text string) (int64, bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0 && strconv.FormatInt(id, 10) == text
}

// term is a filter of messages (https://zulip.com/api/construct-narrow).
type term struct {
	Operator string `json:"operator"`
	Operand  any    `json:"operand"`
}

// narrow is the filter that leaves this place alone.
func (p place) narrow() []term {
	if p.stream == 0 {
		return []term{{"dm", p.people}}
	}
	return []term{{"stream", p.stream}, {"topic", p.topicName()}}
}

func (p place) topicName() string {
	if p.topic == "" {
		return noTopic
	}
	return p.topic
}

// encode writes a parameter that Zulip wants as JSON.
func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		// Numbers, text and lists of them always have a form.
		panic(err)
	}
	return string(raw)
}
