package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"
)

// maxPathBytes is the longest path that is looked at.
const maxPathBytes = 4096

var (
	errEmptyPath = errors.New(`the path is empty; paths are relative to the workspace, and "." is the workspace itself`)
	errBadPath   = errors.New("the path has a zero byte or is not valid UTF-8; no file has such a name")
	errLongPath  = fmt.Errorf("the path has more than %d bytes; no file has such a name", maxPathBytes)
)

// cleanPath returns the path that a model named, relative to the workspace,
// with slashes and without detours: what it returns is what people are shown
// and what is used. It looks at the words only; that links don't lead out of
// the workspace is seen to when the path is used.
func cleanPath(p string) (string, error) {
	switch {
	case p == "":
		return "", errEmptyPath
	case strings.ContainsRune(p, 0) || !utf8.ValidString(p):
		return "", errBadPath
	case len(p) > maxPathBytes:
		return "", errLongPath
	case isAbsolute(p):
		return "", fmt.Errorf("the path %s is absolute; paths are relative to the workspace, such as \"notes/plan.md\"", quoted(p, 200))
	}
	clean := path.Clean(filepath.ToSlash(p))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fmt.Errorf("the path %s leads out of the workspace, which is not allowed", quoted(p, 200))
	}
	if !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", fmt.Errorf("the path %s is no name for a file here", quoted(p, 200))
	}
	return clean, nil
}

// isAbsolute reports whether a path means a place of its own, on this platform
// or on the one that the model has in mind.
func isAbsolute(p string) bool {
	first, _, _ := strings.Cut(filepath.ToSlash(p), "/")
	return p[0] == '/' || p[0] == '\\' || first == "~" || filepath.VolumeName(p) != "" || isDrive(p)
}

func isDrive(p string) bool {
	letter := len(p) > 2 && ('a' <= p[0]|0x20 && p[0]|0x20 <= 'z')
	return letter && p[1] == ':' && (p[2] == '\\' || p[2] == '/')
}

// cleanFilePath is cleanPath for a file that is to be written.
func cleanFilePath(p string) (string, error) {
	clean, err := cleanPath(p)
	if err != nil {
		return "", err
	}
	if last := p[len(p)-1]; clean == "." || os.IsPathSeparator(last) || strings.HasSuffix(filepath.ToSlash(p), "/.") {
		return "", fmt.Errorf("the path %s names a folder; name a file in it", quoted(p, 200))
	}
	if !allPrint(clean) {
		return "", fmt.Errorf("the path %s has characters that can't be seen; files are not written under such names", quoted(p, 200))
	}
	return clean, nil
}

// pathError makes a sentence of an error of the file system. What the system
// calls the place on its own side is left out.
func pathError(p string, err error) error {
	var why string
	var number syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "there is no file or folder of that name"
	case errors.Is(err, fs.ErrPermission):
		why = "the system does not permit it"
	case errors.Is(err, fs.ErrClosed):
		why = "the workspace is closed because the program stops"
	case errors.Is(err, fs.ErrExist):
		why = "there is something else of that name"
	case errors.Is(err, syscall.ENOTDIR):
		why = "it, or a part of it, is a file and no folder"
	case !errors.As(err, &number):
		// Only os.Root itself speaks without a number of the system's.
		why = "it leads out of the workspace by a link, or through too many links; neither is allowed"
	default:
		why = number.Error()
	}
	return fmt.Errorf("%s: %s", visible(p), why)
}
