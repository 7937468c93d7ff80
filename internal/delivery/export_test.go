package delivery

// Bug is a mistake that can be put into a lane, by what it is.
type Bug struct {
	Name string
	bug  bug
}

// Bugs are all mistakes that there are.
var Bugs = []Bug{
	{"that something was posted counts as the answer being posted", bugSentFlag},
	{"the unsent end of a text is forgotten when a tool begins", bugClearedBuffer},
	{"what may have been taken is sent again", bugResend},
	{"a range counts as shown before its edit is", bugEarlyRange},
	{"a receipt is stored with the next call", bugLateReceipt},
	{"what may have been taken counts as shown", bugUnknownShown},
	{"an edit shows the new text only", bugOnlyNew},
	{"length is counted in another unit", bugUnit},
	{"a request for approval overtakes text", bugApprovalFirst},
	{"a restart forgets what the platform asked for", bugForgottenPace},
	{"text that grows ends in a cursor", bugCursor},
}

// Put puts the mistake in.
func (b Bug) Put(c *Config) { c.bug = b.bug }
