package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// Import reads a file of either form and writes its conversations, each whole or
// not at all. One that is here with the same records, or with more after them, is
// left as it is; one that is here with others is refused, and so is one that does
// not hold together or uses a run id of another; the rest goes on. A run that was
// going on when the file was written is closed as interrupted, and messages that
// waited are held until a person resumes them.
//
// Errors: ErrFormat, when nothing was imported; ErrCut for a file that is not
// whole; those of the log, of the blobs and of r. With any of them Imported tells
// what had become of the conversations before; what was imported stays, and
// importing the file again goes on from there.
func (a *Archive) Import(ctx context.Context, r io.Reader) (Imported, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	result := Imported{Conversations: []Outcome{}}
	head, err := in.Peek(len(`{"format":`))
	if err != nil && !errors.Is(err, io.EOF) {
		return result, fmt.Errorf("read the file: %w", err)
	}
	if strings.TrimSpace(string(head)) == "" && err != nil {
		return result, fmt.Errorf("%w: it is empty", ErrFormat)
	}
	if isLine(head, "format") {
		return result, a.importOwn(ctx, newLines(in), &result)
	}
	return result, a.importChats(ctx, in, &result)
}

// importOwn reads what Export wrote, once or several times into one file.
func (a *Archive) importOwn(ctx context.Context, in *lines, result *Imported) error {
	for {
		if err := a.importExport(ctx, in, result); err != nil {
			return err
		}
		line, err := in.peek()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !isLine(line, "format"):
			return fmt.Errorf("%w: line %d follows its last line and begins no export", ErrCut, in.number)
		}
	}
}

func (a *Archive) importExport(ctx context.Context, in *lines, result *Imported) error {
	in.whole.Reset()
	if err := readHeader(in); err != nil {
		return err
	}
	var total totalLine
	found := 0
	for {
		line, err := in.peek()
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: it has no last line", ErrCut)
		case err != nil:
			return err
		case isLine(line, "conversations"):
			whole := hexSum(in.whole)
			if !readLine(line, &total) || total.SHA256 != whole || total.Conversations != found {
				return fmt.Errorf("%w: the sum in line %d is not that of the file", ErrCut, in.number)
			}
			in.take()
			return nil
		case !isLine(line, "open"):
			return fmt.Errorf("%w: line %d begins no conversation", ErrCut, in.number)
		}
		found++
		outcome, err := a.importOne(ctx, in)
		result.Conversations = append(result.Conversations, outcome)
		if err != nil {
			return err
		}
	}
}

func readHeader(in *lines) error {
	line, err := in.peek()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	var h headerLine
	switch {
	case !readLine(line, &h) || h.Format != format:
		return fmt.Errorf("%w: its first line is not that of an export", ErrFormat)
	case h.Version != version:
		return fmt.Errorf("%w: it is of version %d, this program reads version %d", ErrFormat, h.Version, version)
	}
	in.take()
	return nil
}

// importOne reads one conversation and writes it. The error ends the import.
func (a *Archive) importOne(ctx context.Context, in *lines) (Outcome, error) {
	p, err := a.open(ctx, in)
	if err == nil {
		err = p.read(in)
	}
	if err == nil && !p.refused() {
		err = p.commit(ctx)
	}
	if err != nil && p.outcome.State == "" {
		p.refuse("nothing of it was imported: %v", err)
	}
	if p.outcome.State != Done {
		err = errors.Join(err, p.discard())
	}
	return p.outcome, err
}

// open takes the line that begins a conversation.
func (a *Archive) open(ctx context.Context, in *lines) (*parcel, error) {
	p := &parcel{archive: a, blobs: map[string]bool{}}
	line, err := in.peek()
	if err != nil {
		return p, err
	}
	var o openLine
	ok := readLine(line, &o)
	in.piece.Reset()
	in.take()
	p.outcome.ID = o.Open
	if !ok || !id.Valid(string(o.Open)) {
		p.outcome.ID = ""
		p.refuse("line %d names no conversation", in.number)
		return p, nil
	}
	return p, p.look(ctx)
}

// look finds out whether there is a conversation of the same id, and under which
// it comes back if that one is deleted.
func (p *parcel) look(ctx context.Context) error {
	head, err := p.archive.log.Head(ctx, p.outcome.ID)
	if err != nil || head == 0 {
		return err
	}
	v, err := p.archive.view(ctx, p.outcome.ID)
	if err != nil {
		return err
	}
	if v == nil {
		return p.comeBack(ctx)
	}
	p.there = true
	return nil
}

// read takes all lines of a conversation. What is wrong with it refuses it; the
// error says that the file can't be read on.
func (p *parcel) read(in *lines) error {
	for {
		line, err := in.peek()
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: it ends in the middle of a conversation", ErrCut)
		case err != nil:
			return err
		case isLine(line, "open") || isLine(line, "conversations"):
			return fmt.Errorf("%w: before line %d a conversation has no end", ErrCut, in.number)
		case isLine(line, "close"):
			p.close(in, line)
			return nil
		case isLine(line, "blob"):
			if err := p.blob(in, line); err != nil {
				return err
			}
		default:
			p.record(in.number, line)
			in.take()
		}
	}
}

func (p *parcel) close(in *lines, line []byte) {
	var c closeLine
	ok := readLine(line, &c) && c.Close == p.outcome.ID && c.SHA256 == hexSum(in.piece) && c.Records == p.count
	in.take()
	if !ok {
		p.refuse("it was changed or damaged on its way: the sum in line %d is another", in.number)
	}
}

func (p *parcel) record(number int, line []byte) {
	p.count++
	if p.refused() {
		return
	}
	r, err := event.ParseRecord(line)
	if err != nil || r.Conversation != p.outcome.ID {
		p.refuse("line %d is no record of this conversation", number)
		return
	}
	if p.bytes += len(line); p.bytes > MaxConversation {
		p.refuse("it has more than %d bytes", MaxConversation)
		return
	}
	p.records, p.lines = append(p.records, r), append(p.lines, number)
}
