package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"

	"verbatim/internal/attachment"
)

// files reads the files that come with a message: each an object with a name and
// either a data: URL or text. Nothing is stored, and one that is refused refuses
// the message.
func (o object) files() ([]attachment.File, error) {
	list, err := o.list("attachments")
	if err != nil {
		return nil, err
	}
	if len(list) > attachment.MaxFiles {
		return nil, tooManyFiles()
	}
	var files []attachment.File
	for i, raw := range list {
		given, err := attached(raw, i)
		if err != nil {
			return nil, err
		}
		f, err := given.file(i)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// attached reads the object of one file, whose place in the list is i.
func attached(raw json.RawMessage, i int) (object, error) {
	if raw[0] != '{' {
		return nil, badFile(i)
	}
	return members(raw)
}

func badFile(i int) *Problem {
	return problem(Invalid, fmt.Sprintf(`attachments[%d] must be {"name", "url"} with a data: URL, or {"name", "text"}.`, i))
}

// file reads one file.
func (o object) file(i int) (attachment.File, error) {
	name, _, err := o.text("name")
	if err != nil {
		return attachment.File{}, err
	}
	url, isURL, err := o.text("url")
	if err != nil {
		return attachment.File{}, err
	}
	text, isText, err := o.text("text")
	switch {
	case err != nil:
		return attachment.File{}, err
	case isURL == isText:
		return attachment.File{}, badFile(i)
	case isText:
		return attachment.Inspect(name, []byte(text))
	}
	_, data, err := attachment.ParseDataURL(url)
	switch {
	case errors.Is(err, attachment.ErrTooLarge):
		return attachment.File{}, problem(TooLarge, fmt.Sprintf("%s is larger than %d MiB; attach a smaller file, or a part of it.", attachment.CleanName(name), attachment.MaxBytes>>20))
	case err != nil:
		return attachment.File{}, problem(Invalid, fmt.Sprintf("%s did not arrive in a form that can be read: %v.", attachment.CleanName(name), err))
	}
	return attachment.Inspect(name, data)
}
