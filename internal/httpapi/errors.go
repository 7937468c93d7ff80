package httpapi

import (
	"context"
	"errors"
	"net/http"

	"verbatim/internal/attachment"
	"verbatim/internal/chat"
	"verbatim/internal/library"
	"verbatim/internal/sse"
	"verbatim/internal/turnlog"
)

// Kind is the class of a refused or failed request. It stands as "code" in the
// answer, and clients may branch on it.
type Kind string

// The kinds. Each has its status and sentence in ErrorTable.
const (
	Invalid         Kind = "invalid"
	Unauthenticated Kind = "unauthenticated"
	Denied          Kind = "denied"
	Missing         Kind = "missing"
	Method          Kind = "method"
	Conflict        Kind = "conflict"
	TooLarge        Kind = "too_large"
	ContentType     Kind = "content_type"
	Unsupported     Kind = "unsupported_file"
	Mismatch        Kind = "mismatch"
	Unfit           Kind = "unfit"
	Decided         Kind = "decided"
	Limited         Kind = "limited"
	Internal        Kind = "internal"
	Unavailable     Kind = "unavailable"
	Full            Kind = "full"
)

// ErrorDoc is a row of the table of errors.
type ErrorDoc struct {
	Kind   Kind
	Status int
	// Sentence tells a person what it means and what to do. It is the
	// answer's "error" where the code that refused said nothing finer.
	Sentence string
}

// ErrorTable returns every kind of error that this wire has, by status. The
// answers and the reference page are made from it.
func ErrorTable() []ErrorDoc { return errorTable }

var errorTable = []ErrorDoc{
	{Invalid, http.StatusBadRequest, "The request makes no sense as it is; the text says which part."},
	{Unauthenticated, http.StatusUnauthorized, "This needs the token, or the cookie that a launch link sets; run `verbatim link` for a link."},
	{Denied, http.StatusForbidden, "This address or page may not talk to Verbatim; allow_hosts and allow_origins say which may."},
	{Missing, http.StatusNotFound, "There is nothing here by that name."},
	{Method, http.StatusMethodNotAllowed, "This path has no such method; the Allow header lists those it has."},
	{Conflict, http.StatusConflict, "It came at the wrong moment, or something changed since; look again, then repeat it."},
	{Decided, http.StatusConflict, "Somebody or something has decided before; the text says what. Nothing was changed."},
	{TooLarge, http.StatusRequestEntityTooLarge, "The request is too large; send less at once."},
	{ContentType, http.StatusUnsupportedMediaType, "The body must be JSON: send Content-Type: application/json."},
	{Unsupported, http.StatusUnsupportedMediaType, "A file of this kind can't be taken; the text says which, and what to do."},
	{Mismatch, http.StatusUnprocessableEntity, "The run id, or the Idempotency-Key, belongs to another request; use a new one."},
	{Unfit, http.StatusUnprocessableEntity, "What was sent can be read, but not be used; the text says why."},
	{Limited, http.StatusTooManyRequests, "Too many requests; wait a moment, then try again."},
	{Internal, http.StatusInternalServerError, "Something went wrong inside Verbatim; the log has the details."},
	{Unavailable, http.StatusServiceUnavailable, "Verbatim is shutting down or starting; try again in a moment."},
	{Full, http.StatusInsufficientStorage, "The disk is full, so nothing new can be stored; free some space, then try again."},
}

// Problem is a request that gets an error for an answer. Nothing was changed by
// it unless Message says so.
type Problem struct {
	Kind Kind
	// Message is a sentence for people; empty means the kind's own.
	Message string
	// Allow lists the methods of the path; only with Method.
	Allow string
}

// Error returns the sentence that the answer carries.
func (p *Problem) Error() string {
	if p.Message != "" {
		return p.Message
	}
	return docOf(p.Kind).Sentence
}

func problem(kind Kind, message string) *Problem { return &Problem{Kind: kind, Message: message} }

func docOf(kind Kind) ErrorDoc {
	for _, d := range errorTable {
		if d.Kind == kind {
			return d
		}
	}
	return docOf(Internal)
}

// problemOf finds the answer for an error. An error that is no refusal becomes
// Internal, without its text: that is for the log.
func problemOf(err error) *Problem {
	var p *Problem
	var refused *chat.Error
	var file *attachment.Refusal
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &refused):
		return problem(kindOf(refused.Code), refused.Message)
	case errors.As(err, &file):
		return problemOfFile(file)
	case errors.As(err, &large):
		return problem(TooLarge, "")
	case errors.Is(err, library.ErrMissing):
		return problem(Missing, "There is no chat with this id.")
	case errors.Is(err, turnlog.ErrNoRun):
		return problem(Missing, "There is no run with this id.")
	case errors.Is(err, turnlog.ErrFull):
		return problem(Full, "")
	case errors.Is(err, turnlog.ErrFenced), errors.Is(err, turnlog.ErrClosed),
		errors.Is(err, sse.ErrStopped), errors.Is(err, context.Canceled):
		return problem(Unavailable, "")
	}
	return problem(Internal, "")
}

func problemOfFile(r *attachment.Refusal) *Problem {
	if r.TooLarge {
		return problem(TooLarge, r.Error()+".")
	}
	return problem(Unsupported, r.Error()+".")
}

func kindOf(code chat.Code) Kind {
	switch code {
	case chat.Invalid:
		return Invalid
	case chat.Missing:
		return Missing
	case chat.Conflict:
		return Conflict
	case chat.Mismatch:
		return Mismatch
	case chat.TooMany:
		return Limited
	case chat.Full:
		return Full
	case chat.Stopping:
		return Unavailable
	}
	return Internal
}
