package egress

import (
	"strconv"
	"strings"
)

var meanings = map[string]string{
	ProblemAddress:     "the address is on a private network, which webhooks never call",
	ProblemURL:         "the URL is not one that a webhook may have: it must be https, without a user name or password",
	ProblemTimeout:     "no answer came in time: answer first, then do the work",
	ProblemNoName:      "the address's host name does not exist: check its spelling and its DNS record",
	ProblemLookUp:      "the address's host name could not be looked up: its DNS servers did not answer",
	ProblemRefused:     "nothing answers at this address: is the server running, and is the port right?",
	ProblemReset:       "the server broke the connection off before it answered",
	ProblemUnreachable: "no way leads to the server: it is switched off, or a network or firewall keeps it apart",
	ProblemClosed:      "the server closed the connection without an answer: perhaps it failed while it worked",
	ProblemConnection:  "the connection to the server failed",
	ProblemHandshake:   "no encrypted connection came about: check the server's TLS settings",
	ProblemAuthority:   "the server's certificate is from an authority that is not trusted, or its chain is incomplete",
	ProblemHostname:    "the server's certificate is for another host name",
	ProblemExpired:     "the server's certificate has expired or is not valid yet: renew it",
	ProblemCertificate: "the server's certificate is not valid",
	ProblemHeaders:     "the answer's headers are too large",
	ProblemAnswer:      "what answers is no web server: is the port right?",
	ProblemProxy:       "the platform's proxy did not let the request through",
}

// statusMeanings may lack a status, which then has the meaning of its first digit.
var statusMeanings = map[int]string{
	400: "the server did not understand the request",
	401: "the server wants a sign-in, or could not verify the signature: does it have the current secret?",
	403: "the server or a firewall before it forbids the request",
	404: "the server knows no such address: check the path",
	405: "the address takes no POST: check the path",
	408: "the server waited too long for the request",
	410: "the server says that this address is gone for good",
	413: "the request is too large for the server",
	415: "the server does not take JSON",
	422: "the server could not use what the event says",
	429: "the server says that requests come too fast",
	500: "the server's own code failed: look into its log",
	502: "a proxy before the server got no proper answer from it",
	503: "the server is overloaded or under maintenance",
	504: "a proxy before the server waited too long for it",
	2:   "the server took the event",
	3:   "the address leads elsewhere, which is not followed: enter the final address",
	4:   "the server refused the request",
	5:   "the server failed",
}

// Meaning explains a Result's Problem to the owner of the receiver, or returns "".
func Meaning(problem string) string {
	if known := meanings[problem]; known != "" {
		return known
	}
	kind, number, _ := strings.Cut(problem, " ")
	status, err := strconv.Atoi(number)
	if err != nil || kind != "status" && kind != "redirect" {
		return ""
	}
	if known := statusMeanings[status]; known != "" {
		return known
	}
	return statusMeanings[status/100]
}
