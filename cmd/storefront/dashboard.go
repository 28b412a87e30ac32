package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"time"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/dashboard"
	"go.storefront.example/server/dashboard/signin"
)

type platform struct {
	BrandName      string   `clears:"" placeholder:"NAME" help:"The platform's name, which the dashboard shows."`
	BrandLogo      string   `clears:"" placeholder:"FILE" help:"The platform's logo, which the dashboard shows: an SVG, PNG, JPEG or WebP file of at most 512 KiB."`
	BrandColor     string   `clears:"" placeholder:"#RRGGBB" help:"The colour of the dashboard's links and buttons, such as #0b6b5e; the dashboard adapts it so that it can be read."`
	SignInURL      string   `name:"sign-in-url" clears:"" placeholder:"URL" help:"The platform's page on which a member asks for a new sign-in link; the dashboard links to it."`
	FrameAncestors []string `clears:"" placeholder:"ORIGIN,…" help:"Origins whose pages may show the dashboard in a frame, such as https://app.example.com (default: none)."`
}

func (p platform) checked() (dashboard.Platform, error) {
	result := dashboard.Platform{Name: p.BrandName, Color: p.BrandColor, SignInURL: p.SignInURL}
	for _, origin := range p.FrameAncestors {
		if origin != "" {
			result.FrameAncestors = append(result.FrameAncestors, origin)
		}
	}
	if p.BrandLogo != "" {
		logo, err := os.ReadFile(p.BrandLogo)
		if err != nil {
			return result, usage("--brand-logo: %w", err)
		}
		result.Logo = logo
	}
	result, err := result.Check()
	if err != nil {
		return result, usage("the dashboard's settings: %w", err)
	}
	return result, nil
}

type dashboardCmd struct {
	Link     dashboardLinkCmd     `cmd:"" help:"Make a link that signs a member in to a store's dashboard once."`
	Sessions dashboardSessionsCmd `cmd:"" help:"List the members who are signed in to dashboards, and sign them out."`
}

type dashboardLinkCmd struct {
	target
	Store   string        `required:"" placeholder:"SLUG" help:"The store, by slug or id."`
	Member  string        `required:"" placeholder:"NAME" help:"The member's name, for the activity journal."`
	Role    string        `required:"" enum:"owner,admin" placeholder:"ROLE" help:"owner or admin; no other role manages keys and webhooks."`
	Expires time.Duration `default:"10m" least:"1s" greatest:"24h" placeholder:"TIME" help:"How long the link is valid: 1s to 24h (default: 10m)."`
	URL     linkBaseURL   `name:"url" placeholder:"URL" help:"URL under which the member reaches the admin listener (default: --dashboard-url, else --admin-url, else http://127.0.0.1:8081). With https the session's cookie travels over HTTPS only; http is for a loopback address."`

	DashboardURL apiURL `name:"dashboard-url" placeholder:"URL" help:"Public URL of the dashboard, such as https://dashboard.example.com."`
}

func (c *dashboardLinkCmd) defaultURL(s *invocation) (base linkBaseURL, err error) {
	flag, served := "--dashboard-url", string(c.DashboardURL)
	if served == "" {
		flag, served = "--admin-url", c.AdminURL
	}
	if served == "" && s.dev.acceptsToken(c.AdminToken) {
		served = s.dev.AdminURL
	}
	if err := base.UnmarshalText([]byte(cmp.Or(served, "http://127.0.0.1:8081"))); err != nil {
		return "", usage("%s is not where members sign in: it %w; name the address with --url", flag, err)
	}
	return base, nil
}

// warnIfDead warns the user if no dashboard answers at an address that nobody has named.
func warnIfDead(s *invocation, base linkBaseURL) {
	ctx, cancel := context.WithTimeout(s.ctx, 3*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, strings.TrimRight(string(base), "/")+dashboard.Path+"/sign-in", nil)
	if err == nil {
		var answer *http.Response
		if answer, err = (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusNotFound {
				return
			}
		}
	}
	s.printMessage("warning: no dashboard answers at " + string(base) + ", so the link will not work: start storefront server with " +
		"--admin-token, or name its address with --url or STOREFRONT_DASHBOARD_URL")
}

func (c *dashboardLinkCmd) Run(s *invocation) error {
	guessed := c.URL == "" && c.DashboardURL == "" && c.AdminURL == ""
	if c.URL == "" {
		var err error
		if c.URL, err = c.defaultURL(s); err != nil {
			return err
		}
	}
	seconds := int32(math.Ceil(c.Expires.Seconds()))
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		link, err := o.CreateSignInLink(ctx, &adminv1.CreateSignInLinkRequest{
			Store: c.Store, Member: c.Member, Role: adminv1.Session_Role(adminv1.Session_Role_value[c.Role]), ExpiresSeconds: &seconds,
			BaseUrl: string(c.URL),
		})
		if err != nil {
			return err
		}
		if guessed {
			warnIfDead(s, c.URL)
		}
		if s.json {
			return s.print(selectFields(link, nil, "url", "expiresAt"))
		}
		_, err = fmt.Fprintf(s.out, "%s\n\nWorks once, until %s.\n", link.GetUrl(), formatTime(link.GetExpiresAt()))
		return err
	})
}

// linkBaseURL is the base address of sign-in links, or "".
type linkBaseURL string

// UnmarshalText accepts the addresses that signin.CheckBaseURL accepts.
func (b *linkBaseURL) UnmarshalText(text []byte) error {
	if _, err := signin.CheckBaseURL(string(text)); err != nil {
		return err
	}
	*b = linkBaseURL(text)
	return nil
}

type dashboardSessionsCmd struct {
	List   sessionsListCmd   `cmd:"" help:"List signed-in members and links that can still be used, newest first."`
	Revoke sessionsRevokeCmd `cmd:"" help:"End a session or an unused link, or all of a store."`
}

type sessionsListCmd struct {
	target
	Store string `placeholder:"SLUG" help:"The store, by slug or id; all stores unless named."`
	listSize
}

func (c *sessionsListCmd) Run(s *invocation) error {
	in := &adminv1.ListSessionsRequest{Store: c.Store}
	return list(s, c.target, c.listSize, sessionTable, in, func(size *int32, token string) { in.PageSize, in.PageToken = size, token },
		func(ctx context.Context, _ admin.API) (context.Context, error) { return ctx, nil }, admin.API.ListSessions, (*adminv1.ListSessionsResponse).GetSessions)
}

var sessionTable = table[*adminv1.Session]{[]column[*adminv1.Session]{
	{name: "ID", id: (*adminv1.Session).GetId},
	{name: "KIND", value: func(m *adminv1.Session) string { return m.GetKind().String() }},
	{name: "STORE", value: func(m *adminv1.Session) string { return m.GetStore().GetSlug() }, cut: true},
	{name: "MEMBER", value: (*adminv1.Session).GetMember, cut: true},
	{name: "ROLE", value: func(m *adminv1.Session) string { return m.GetRole().String() }, optional: true},
	{name: "LAST USED", at: (*adminv1.Session).GetLastUsedAt, optional: true},
	{name: "EXPIRES", at: (*adminv1.Session).GetExpiresAt, optional: true},
	{name: "CREATED", at: (*adminv1.Session).GetCreatedAt, optional: true},
}, messageJSON[*adminv1.Session]}

type sessionsRevokeCmd struct {
	target
	ID     string `arg:"" optional:"" help:"The id of a session or link, as sessions list shows it."`
	All    bool   `help:"End all sessions and unused links of the store, or with --member those of one member."`
	Store  string `placeholder:"SLUG" help:"The store, by slug or id. Needed with --all; an id of another store is not found."`
	Member string `placeholder:"NAME" help:"The member's name, with --all."`
}

// Run revokes one session or sign-in link; with --all all of the store or of one member.
func (c *sessionsRevokeCmd) Run(s *invocation) error {
	switch {
	case c.ID != "" && (c.All || c.Member != ""):
		return usage("an id cannot be used with --all or --member")
	case c.ID == "" && (!c.All || c.Store == ""):
		return usage("name what to end: an id, or --all and --store")
	}
	return s.operate(c.target, func(ctx context.Context, o admin.API) error {
		if c.ID != "" {
			return c.revoke(ctx, s, o)
		}
		ended, err := o.RevokeSessions(ctx, &adminv1.RevokeSessionsRequest{Store: c.Store, Member: c.Member})
		if err != nil {
			return err
		}
		return s.print(messageJSON(ended))
	})
}

func (c *sessionsRevokeCmd) revoke(ctx context.Context, s *invocation, o admin.API) error {
	in := &adminv1.RevokeSessionRequest{Id: c.ID, Store: c.Store}
	if !isID(c.ID) {
		found, err := findSession(ctx, o, c.Store, c.ID)
		if err != nil {
			return err
		}
		in.Id = found.GetId()
	}
	ended, err := o.RevokeSession(ctx, in)
	if err != nil {
		return err
	}
	return s.print(messageJSON(ended))
}
