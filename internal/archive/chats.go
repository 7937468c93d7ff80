package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"verbatim/internal/id"
)

// chat is a conversation of the desktop product.
type chat struct {
	ID       string          `json:"id"`
	Title    string          `json:"title"`
	Project  string          `json:"project"`
	Updated  json.RawMessage `json:"updated"`
	Messages []row           `json:"messages"`
}

type row struct {
	Role     string    `json:"role"`
	Content  *string   `json:"content"`
	Versions []*string `json:"versions"`
	Active   int       `json:"active"`
}

// bounded counts what is read since the last conversation began.
type bounded struct {
	in   io.Reader
	left int
}

var errLarge = fmt.Errorf("%w: a conversation has more than %d bytes", ErrFormat, MaxConversation)

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLarge
	}
	n, err := b.in.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// importChats reads chat files: one chat, several one after another, or an array
// of them.
func (a *Archive) importChats(ctx context.Context, in *bufio.Reader, result *Imported) error {
	first, err := firstByte(in)
	if err != nil {
		return err
	}
	source := &bounded{in: in, left: MaxConversation}
	dec := json.NewDecoder(source)
	switch first {
	case '{':
		if err := a.importEach(ctx, dec, source, result); err != nil {
			return err
		}
		return endOfFile(dec)
	case '[':
		if _, err := dec.Token(); err != nil {
			return unreadable(err)
		}
		if err := a.importEach(ctx, dec, source, result); err != nil {
			return err
		}
		return endOfArray(dec)
	}
	return fmt.Errorf("%w: it is neither an export nor a chat file", ErrFormat)
}

// importEach reads chats to the end of the array or of the file.
func (a *Archive) importEach(ctx context.Context, dec *json.Decoder, source *bounded, result *Imported) error {
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return unreadable(err)
		}
		outcome, err := a.importChat(ctx, raw)
		result.Conversations = append(result.Conversations, outcome)
		if err != nil {
			return err
		}
		source.left = MaxConversation
	}
	return nil
}

// firstByte returns the first byte that is no white space, and leaves it.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return 0, fmt.Errorf("%w: there is nothing in it", ErrFormat)
		}
		if bytes.IndexByte([]byte(" \t\r\n"), b) < 0 {
			return b, in.UnreadByte()
		}
	}
}

// endOfArray reads what follows the last chat of an array: its end, and nothing
// else.
func endOfArray(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return unreadable(err)
	}
	return endOfFile(dec)
}

func endOfFile(dec *json.Decoder) error {
	_, err := dec.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return fmt.Errorf("%w: something follows its last chat", ErrCut)
	}
	return unreadable(err)
}

// unreadable says whether a file breaks off or is none.
func unreadable(err error) error {
	if errors.Is(err, errLarge) {
		return err
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", ErrCut, err)
	}
	return fmt.Errorf("read the file: %w", err)
}

// importChat writes one chat. The error ends the import.
func (a *Archive) importChat(ctx context.Context, raw []byte) (Outcome, error) {
	p := &parcel{archive: a, blobs: map[string]bool{}}
	var c chat
	if err := json.Unmarshal(raw, &c); err != nil {
		p.refuse("it is no chat: %v", err)
		return p.outcome, nil
	}
	p.outcome.ID = chatID(c.ID, raw)
	if err := p.look(ctx); err != nil {
		return p.outcome, err
	}
	err := p.rows(c)
	if err != nil {
		return p.outcome, err
	}
	if !p.refused() {
		err = p.commit(ctx)
	}
	if err != nil {
		p.refuse("nothing of it was imported: %v", err)
	}
	return p.outcome, err
}

// chatID is the chat's own id where it can be one here, or else one that is
// always the same for it.
func chatID(own string, raw []byte) id.Conversation {
	switch {
	case id.Valid(own):
		return id.Conversation(own)
	case own != "":
		return id.Conversation("c_" + derived("chat", own))
	}
	var line bytes.Buffer
	if json.Compact(&line, raw) != nil {
		line.Write(raw)
	}
	return id.Conversation("c_" + derived("content", line.String()))
}

// derived is text that stands for its parts: 32 letters and digits.
func derived(parts ...string) string {
	var all []byte
	for _, part := range parts {
		all = fmt.Appendf(all, "%d %s\n", len(part), part)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])[:32]
}
