package delivery

// bug is a mistake that tests put into a lane to see that they would find it. The
// program never sets one.
type bug int

// The mistakes, each of which is one that programs like this have made.
const (
	_ bug = iota
	// bugSentFlag: that something was posted counts as the answer being posted.
	bugSentFlag
	// bugClearedBuffer: what of a text is not posted when a tool begins is
	// forgotten.
	bugClearedBuffer
	// bugResend: what may have been taken is sent again.
	bugResend
	// bugEarlyRange: a range counts as shown before its edit is.
	bugEarlyRange
	// bugLateReceipt: what a call came to is stored with the next one.
	bugLateReceipt
	// bugUnknownShown: what may have been taken counts as shown.
	bugUnknownShown
	// bugOnlyNew: an edit shows the new text only.
	bugOnlyNew
	// bugUnit: length is counted in another unit than the platform's.
	bugUnit
	// bugApprovalFirst: a request for approval goes ahead of the text before it.
	bugApprovalFirst
	// bugForgottenPace: a restart forgets what the platform asked for.
	bugForgottenPace
	// bugCursor: text that grows ends in a cursor.
	bugCursor
)

// has reports whether a mistake was put in.
func (l *Lane) has(b bug) bool { return l.cfg.bug == b }

// skips reports whether a mistake makes the lane leave a text out.
func (l *Lane) skips(t *track, it *item, last *spot) bool {
	switch l.cfg.bug {
	case bugSentFlag:
		return last == nil && it.final && l.posted(t, it)
	case bugClearedBuffer:
		return last != nil && it.closed && !it.final && len(t.script.items) > 0 && t.script.items[len(t.script.items)-1] != it
	default:
		return false
	}
}

// misjudge makes something of an outcome that nobody can tell.
func (l *Lane) misjudge(s *spot) {
	switch l.cfg.bug {
	case bugResend:
		s.State = Planned
	case bugUnknownShown:
		s.State, s.Shown = Delivered, fingerprint(s.Body)
	default:
	}
}

// owe keeps back what is to be stored.
func (l *Lane) owe(c *Change) {
	if l.has(bugLateReceipt) {
		l.owed, c.Place = append(l.owed, c.Place...), nil
	}
}

// posted reports whether anything of an item's run was posted.
func (l *Lane) posted(t *track, it *item) bool {
	for key, spots := range t.spots {
		if key != it.key && len(spots) > 0 && spots[0].Run == it.run {
			return true
		}
	}
	return false
}

// ahead returns the items in the order in which they are shown.
func (l *Lane) ahead(t *track) []*item {
	if !l.has(bugApprovalFirst) {
		return t.script.items
	}
	var first, rest []*item
	for _, it := range t.script.items {
		if a := t.script.asks; len(a) > 0 && it.card && isAsk(t.script, it) {
			first = append(first, it)
			continue
		}
		rest = append(rest, it)
	}
	return append(first, rest...)
}

func isAsk(s *script, it *item) bool {
	for _, a := range s.asks {
		if a.item == it {
			return true
		}
	}
	return false
}
