package inbound

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"verbatim/internal/delivery"
	"verbatim/internal/surface"
)

// command is what a text asks of the product instead of the model.
type command struct {
	// name is in lower case, without the slash; bot is what stands behind an @
	// after it.
	name, bot string
	args      string
}

// commandForm is a slash and a word, then nothing or a blank: a path such as
// /etc/passwd is none.
var commandForm = regexp.MustCompile(`^/([A-Za-z][A-Za-z0-9_]*)(?:@([A-Za-z0-9_.-]+))?(?:\s|$)`)

func parseCommand(text string) (command, bool) {
	text = strings.TrimSpace(text)
	m := commandForm.FindStringSubmatch(text)
	if m == nil {
		return command{}, false
	}
	return command{name: strings.ToLower(m[1]), bot: m[2], args: strings.TrimSpace(text[len(m[0]):])}, true
}

// String is the command as it is stored.
func (c command) String() string { return strings.TrimSpace("/" + c.name + " " + c.args) }

// The commands.
const (
	commandNew    = "new"
	commandStop   = "stop"
	commandAgain  = "again"
	commandAllow  = "allow"
	commandAlways = "always"
	commandDeny   = "deny"
	commandStatus = "status"
	commandModel  = "model"
	commandHelp   = "help"
	// commandStart is what some platforms send when a person opens the chat.
	commandStart = "start"
)

func (c command) known() bool {
	return c.decides() || slices.Contains([]string{commandNew, commandStop, commandAgain, commandStatus, commandModel, commandHelp, commandStart}, c.name)
}

// decides reports whether the command is a decision about a request for approval.
func (c command) decides() bool {
	return slices.Contains([]string{commandAllow, commandAlways, commandDeny}, c.name)
}

// bareForm is a decision without its slash.
var bareForm = regexp.MustCompile(`(?is)^(allow|always|deny)\s+(\S+)(?:\s+(.*))?$`)

// commandIn finds the command in a message. A decision may come without its slash
// where it names a request that waits in this chat: anything else is text.
func (in *Inbox) commandIn(ctx context.Context, m surface.Message) (command, bool, error) {
	if c, ok := parseCommand(m.Text); ok || len(m.Text) > maxBareBytes {
		return c, ok, nil
	}
	form := bareForm.FindStringSubmatch(strings.TrimSpace(m.Text))
	if form == nil || !looksLikeCode(form[2]) {
		return command{}, false, nil
	}
	waiting, err := in.waitingIn(ctx, in.address(m.Chat))
	if err != nil || len(named(waiting, form[2])) == 0 {
		return command{}, false, err
	}
	return command{name: strings.ToLower(form[1]), args: strings.TrimSpace(form[2] + " " + form[3])}, true, nil
}

// maxBareBytes is the longest text that is looked at for a bare decision: a
// code and a reason.
const maxBareBytes = 5 << 10

// takeCommand stores a command, so that it is carried out whatever happens, and
// carries it out.
func (in *Inbox) takeCommand(ctx context.Context, m surface.Message, c command) (surface.Ack, error) {
	r := in.row(m)
	r.State = delivery.InboundTaken
	l, release, err := in.enter(ctx, r.Address)
	if err != nil {
		return surface.Ack{}, err
	}
	defer release()
	if r.Conversation, err = in.conversation(ctx, m); err != nil {
		return surface.Ack{}, err
	}
	if c.name == commandNew {
		if c.args, err = in.planNew(ctx, m, c.args); err != nil {
			return surface.Ack{}, err
		}
	}
	r.Text = c.String()
	if len(m.Files)+len(m.Refused) > 0 {
		if err := in.say(ctx, r.Address, "not_taken", about(m, r.Delivery), "Files that come with a command are not taken; send them with a message."); err != nil {
			return surface.Ack{}, err
		}
	}
	ack, err := in.add(ctx, l, r)
	if err != nil || ack.Delivery != r.Delivery {
		return ack, err
	}
	l.again = append(l.again, r)
	// It is ours now, and doesn't wait for what is in the way of messages.
	l.proceedCommands(in.ctx)
	return ack, nil
}

// carryOut carries a command out, or what is left of it: each may come twice. An
// error means that it must come again. The lane is held.
func (in *Inbox) carryOut(ctx context.Context, l *lane, r delivery.Inbound) error {
	c, _ := parseCommand(r.Text)
	var line string
	var err error
	switch c.name {
	case commandNew:
		line, err = l.begin(ctx, r, c.args)
	case commandStop:
		line, err = l.stop(ctx, r)
	case commandAgain:
		line, err = l.sendAgain(ctx)
	case commandAllow, commandAlways, commandDeny:
		line, err = l.decide(ctx, r, c)
	case commandStatus:
		line, err = l.status(ctx, r)
	case commandModel:
		line, err = l.model(ctx, r, c.args)
	case commandHelp, commandStart:
		line = helpText
	default:
		line = "There is no command " + quoted("/"+c.name) + ". /help lists those that there are."
	}
	if err != nil {
		return err
	}
	return in.say(ctx, l.to, "command", r.Delivery, line)
}

const helpText = "Write what you want to know or have done. Commands:\n" +
	"- `/new` begins a new conversation\n" +
	"- `/stop` stops the answer and takes out what waits\n" +
	"- `/again` sends again what may not have arrived\n" +
	"- `/allow CODE`, `/always CODE`, `/deny CODE reason` decide about a request\n" +
	"- `/status` says what goes on\n" +
	"- `/model` names the model, `/model NAME` chooses one for this conversation, `/model default` the general one"
