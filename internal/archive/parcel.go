package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"verbatim/internal/blob"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// parcel is a conversation of a file on its way into the log.
type parcel struct {
	archive *Archive
	outcome Outcome
	there   bool // a conversation of this id has records here
	// as is the id under which it comes back, empty for its own.
	as id.Conversation
	// untimed: the file does not tell when it was, so times are not compared.
	untimed bool

	records []event.Record
	lines   []int // of the records; empty where a file has no lines
	count   int
	bytes   int

	blobs map[string]bool // that the file has
	made  []string        // that were not here before
}

func (p *parcel) refused() bool { return p.outcome.State == Refused }

// refuse keeps the first reason.
func (p *parcel) refuse(format string, args ...any) {
	if p.refused() {
		return
	}
	p.outcome.State, p.outcome.Reason = Refused, fmt.Sprintf(format, args...)
	p.records, p.lines = nil, nil
}

// blob takes a blob's lines and keeps it, unless the conversation won't be
// written.
func (p *parcel) blob(in *lines, line []byte) error {
	var b blobLine
	ok := readLine(line, &b)
	in.take()
	r := newBlobReader(in, b)
	switch {
	case !ok || p.blobs[b.Blob]:
		p.refuse("line %d is no blob of this conversation", in.number)
	case b.Missing:
		p.blobs[b.Blob] = true
		return nil
	}
	p.blobs[b.Blob] = true
	if p.refused() || p.there {
		return r.drain()
	}
	if err := p.keep(b.Blob, r); err != nil {
		return err
	}
	return r.drain()
}

func (p *parcel) keep(name string, r *blobReader) error {
	f, _, err := p.archive.blobs.Open(name)
	isNew := errors.Is(err, blob.ErrMissing)
	if err == nil {
		err = f.Close()
	}
	if err == nil || isNew {
		err = p.archive.blobs.Import(name, r)
	}
	switch {
	case errors.Is(err, blob.ErrDiffers):
		p.refuse("its blob %s is here with other content", name)
	case errors.Is(err, blob.ErrName) || errors.Is(err, errBlob):
		p.refuse("its blob before line %d is damaged", r.lines.number)
	case err != nil:
		return fmt.Errorf("keep blob %s: %w", name, err)
	case isNew:
		p.made = append(p.made, name)
	}
	return nil
}

// discard removes the blobs of a conversation that was not written.
func (p *parcel) discard() error {
	var errs []error
	for _, name := range p.made {
		errs = append(errs, p.archive.blobs.Delete(name))
	}
	p.made = nil
	return errors.Join(errs...)
}

// commit writes the conversation, or finds that it can't or need not be.
func (p *parcel) commit(ctx context.Context) error {
	if p.check(); p.refused() {
		return nil
	}
	if p.as != "" {
		if err := p.rename(); err != nil {
			return err
		}
	}
	if p.there {
		return p.compare(ctx)
	}
	if err := p.settle(); err != nil || p.refused() {
		return err
	}
	err := p.archive.log.Import(ctx, p.outcome.ID, p.records)
	switch {
	case errors.Is(err, turnlog.ErrExists):
		p.there = true
		return p.compare(ctx)
	case errors.Is(err, turnlog.ErrRunUsed):
		p.refuse("another conversation has a run of the same id")
		return nil
	case errors.Is(err, turnlog.ErrInvalid):
		p.refuse("%v", err)
		return nil
	case err != nil:
		return err
	}
	p.outcome.State, p.outcome.Records = Done, len(p.records)
	return nil
}

// check refuses what does not hold together.
func (p *parcel) check() {
	if len(p.records) == 0 {
		p.refuse("it has no records")
		return
	}
	for i, r := range p.records {
		if r.Run != "" && !id.Valid(string(r.Run)) || r.Message != "" && !id.Valid(string(r.Message)) {
			p.refuse("%s: an id that is none", p.place(i))
			return
		}
		names, err := blobsOf(r)
		missing := slices.ContainsFunc(names, func(name string) bool { return !p.blobs[name] })
		if err != nil || missing {
			p.refuse("%s refers to a blob that the file does not have before it", p.place(i))
			return
		}
	}
	for _, broken := range transcript.Check(p.records) {
		seq, _, _ := strings.Cut(broken, " ")
		n, _ := strconv.Atoi(seq)
		p.refuse("%s: %s", p.place(n-1), broken)
		return
	}
	if unused := p.unused(); unused != "" {
		p.refuse("nothing refers to its blob %s", unused)
	}
}

// unused returns a blob that was kept and that no record refers to.
func (p *parcel) unused() string {
	used := map[string]bool{}
	for _, r := range p.records {
		names, _ := blobsOf(r) // check has read them
		for _, name := range names {
			used[name] = true
		}
	}
	for _, name := range p.made {
		if !used[name] {
			return name
		}
	}
	return ""
}

// place says where in the file a record is.
func (p *parcel) place(i int) string {
	if i < 0 || i >= len(p.lines) {
		return "it does not hold together"
	}
	return "line " + strconv.Itoa(p.lines[i])
}

// compare finds out whether all that the file has is here already.
func (p *parcel) compare(ctx context.Context) error {
	v, err := p.archive.view(ctx, p.outcome.ID)
	if err != nil {
		return err
	}
	if v == nil {
		p.refuse("a conversation of this id was deleted here meanwhile; import the file again")
		return nil
	}
	next, stop := iter.Pull2(v.records(ctx, p.archive.log))
	defer stop()
	for i, r := range p.records {
		ours, err, more := next()
		if err != nil {
			return err
		}
		if !more || !p.same(ours, r) {
			p.refuse("a conversation of this id is here already and is another from record %d on; yours is kept", i+1)
			return nil
		}
	}
	p.outcome.State = Unchanged
	return nil
}

func (p *parcel) same(a, b event.Record) bool {
	if p.untimed {
		a.At = b.At
	}
	return string(a.AppendJSON(nil)) == string(b.AppendJSON(nil))
}
