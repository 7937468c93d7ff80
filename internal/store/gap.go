package store

import (
	"bytes"
	"database/sql/driver"
	"encoding/binary"
)

// gapPages is how many pages are looked at in one piece: some two milliseconds,
// which commits may have to wait.
const gapPages = 128

// maxPages is how many pages a database may have so that pages of trees can be
// told from others: 128 GiB. In a larger one gaps stay as they are.
const maxPages = 1<<25 - 1

// closeGaps looks at some pages of the database and clears what no cell on them
// uses any more. SQLite overwrites what it frees (secure_delete), but when it
// splits a page, copies of the cells that it moved stay behind between the list
// of cells and the first of them; erasing the records later does not reach these.
// It reports whether pages are left. d.mu is held, and the pages are as an
// erasure left them or newer: what is copied since has nothing of it.
func (d *DB) closeGaps() (more bool, err error) {
	first := d.nextPage
	last := first + gapPages - 1
	pages, _, err := d.writer.integer("PRAGMA page_count")
	if err != nil || pages > maxPages {
		return false, err
	}
	var unclean []page
	err = d.writer.each(func(row []driver.Value) (bool, error) {
		p := page{number: asInt(row[0])}
		p.data, _ = row[1].([]byte)
		if p.clean() {
			unclean = append(unclean, p)
		}
		return true, nil
	}, "SELECT pgno, data FROM sqlite_dbpage WHERE pgno BETWEEN ? AND ?", first, min(last, pages))
	if err != nil {
		return false, err
	}
	if len(unclean) > 0 {
		if err := d.transact(func() error { return d.putPages(unclean) }); err != nil {
			return false, err
		}
	}
	d.nextPage = last + 1
	return last < pages, nil
}

func (d *DB) putPages(pages []page) error {
	d.unmoved += len(pages)
	for _, p := range pages {
		if err := d.writer.exec("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", p.data, p.number); err != nil {
			return err
		}
	}
	return nil
}

// page is a page of the database file.
type page struct {
	number int64
	data   []byte
}

// clean clears the gap of a page of a tree and reports whether there was
// anything in it. Pages of other uses begin with the number of a page, of which
// the first byte is less than 2 in a database under 128 GiB, and are left alone.
// See "B-tree Pages" in SQLite's description of its file format.
func (p page) clean() (changed bool) {
	header := 0
	if p.number == 1 {
		header = 100 // after that of the file
	}
	if len(p.data) < header+12 {
		return false
	}
	h := p.data[header:]
	size := 8
	switch h[0] {
	case 2, 5: // inner pages of an index and of a table
		size = 12
	case 10, 13: // leaves
	default:
		return false
	}
	cells := int(binary.BigEndian.Uint16(h[3:]))
	content := int(binary.BigEndian.Uint16(h[5:]))
	if content == 0 {
		content = 1 << 16
	}
	begin := header + size + 2*cells
	if begin > content || content > len(p.data) {
		return false
	}
	gap := p.data[begin:content]
	if len(bytes.TrimLeft(gap, "\x00")) == 0 {
		return false
	}
	clear(gap)
	return true
}
