package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// Pragmas of the two kinds of connections. The writer moves the write-ahead
// log itself (see Upkeep); the limit on it here is only for a caller that
// never does. EXTRA is FULL, which syncs each commit, and syncs the directory
// too when a rollback journal is removed: one that came back after a power cut
// would undo the step to the write-ahead log, and all that is in it. Caches
// are in KiB and small, for the process is to stay small.
const (
	writerPragmas = "busy_timeout=5000;synchronous=EXTRA;wal_autocheckpoint=16000;cache_size=-4096;temp_store=MEMORY;cell_size_check=ON;secure_delete=ON"
	readerPragmas = "busy_timeout=5000;query_only=ON;cache_size=-512;temp_store=MEMORY"
)

// conn is one connection with its prepared statements, used by one goroutine
// at a time. It stands on the driver without database/sql, whose pool and
// locks cost more than a small insert.
type conn struct {
	raw   driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
}

// Modes of a connection. There is none that makes a file. A connection that
// may write moves the write-ahead log into the database when it is the last to
// close; one that only looks leaves the files as they are.
const (
	readWrite = "rw"
	lookOnly  = "ro"
)

func dial(path, vfs, mode, pragmas string) (*conn, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dsn := "file:" + (&url.URL{Path: filepath.ToSlash(abs)}).EscapedPath() + "?mode=" + mode
	if vfs != "" {
		dsn += "&vfs=" + url.QueryEscape(vfs)
	}
	var d sqlite.Driver
	raw, err := d.Open(dsn)
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, stmts: map[string]driver.Stmt{}}
	for p := range strings.SplitSeq(pragmas, ";") {
		if err := c.once("PRAGMA " + p); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// once runs a statement that will not come again.
func (c *conn) once(query string) error {
	_, err := c.raw.(driver.ExecerContext).ExecContext(context.Background(), query, nil)
	return err
}

func (c *conn) stmt(query string) (driver.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.raw.Prepare(query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

func (c *conn) bind(args []driver.Value) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs a statement whose text is one of a fixed few. Its arguments are
// int64, string, []byte and nil. No context: the statements are short, and
// the driver would start a goroutine for each.
func (c *conn) exec(query string, args ...driver.Value) error {
	s, err := c.stmt(query)
	if err != nil {
		return err
	}
	_, err = s.(driver.StmtExecContext).ExecContext(context.Background(), c.bind(args))
	return err
}

// each calls f for the rows of a query until it returns false. The row is
// reused; byte slices and strings in it are the caller's.
func (c *conn) each(f func(row []driver.Value) (more bool, err error), query string, args ...driver.Value) (err error) {
	s, err := c.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if more, err := f(row); err != nil || !more {
			return err
		}
	}
}

// first returns the first row of a query, nil when it has none.
func (c *conn) first(query string, args ...driver.Value) (found []driver.Value, err error) {
	err = c.each(func(row []driver.Value) (bool, error) {
		found = row
		return false, nil
	}, query, args...)
	return found, err
}

func (c *conn) integer(query string, args ...driver.Value) (int64, bool, error) {
	row, err := c.first(query, args...)
	if err != nil || row == nil {
		return 0, false, err
	}
	return asInt(row[0]), true, nil
}

func (c *conn) text(query string, args ...driver.Value) (string, bool, error) {
	row, err := c.first(query, args...)
	if err != nil || row == nil {
		return "", false, err
	}
	return asText(row[0]), true, nil
}

// asInt and asText read a column; what is null or of another type is zero.
func asInt(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}

func asText(v driver.Value) string {
	s, _ := v.(string)
	return s
}
