package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// nginxConfig is as cmd/storefront/nginx.conf for several installations, but in one process and without TLS, whose cost is the
// same for any number. Its parameters are the lines of the map from buckets to installations, the upstreams, and the listener's
// address.
const nginxConfig = `daemon off;
master_process off;
pid pid;
events {}
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  map $http_authorization $installation {
%s  }
%s  server {
    listen %s;
    location / {
      proxy_pass http://$installation;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
    }
  }
}
`

// bucketOffset is where the store's bucket begins in an API key.
const bucketOffset = len("svc_live_")

func startNginx(ctx context.Context, program, folder string, stages []*stage) (*process, string, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, "", err
	}
	var lines, upstreams strings.Builder
	for n, s := range stages {
		fmt.Fprintf(&upstreams, "  upstream storefront_%d { server %s max_fails=0; keepalive 16; }\n", n, s.server.api)
		var buckets []string
		for _, store := range s.stores {
			buckets = append(buckets, store.key(0)[bucketOffset:bucketOffset+2])
		}
		fmt.Fprintf(&lines, "    \"~^Bearer svc_live_(?:%s)\" storefront_%d;\n", strings.Join(buckets, "|"), n)
	}
	file := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, nginxConfig, &lines, &upstreams, address), 0o600); err != nil {
		return nil, "", err
	}
	p := &process{
		name: "nginx", command: exec.Command(program, "-e", "stderr", "-p", folder, "-c", file), ended: make(chan struct{}),
	}
	p.command.Stderr = os.Stderr
	if err := p.command.Start(); err != nil {
		return nil, "", fmt.Errorf("start nginx: %w", err)
	}
	go func() {
		p.err = p.command.Wait()
		close(p.ended)
	}()
	listens, err := poll(ctx, readyTimeout, func() (bool, error) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil || !p.running(), nil
	})
	if err == nil && (!listens || !p.running()) {
		err = p.failure(errors.New("it does not listen"))
	}
	if err != nil {
		p.kill()
	}
	return p, address, err
}
