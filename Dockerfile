# syntax=docker/dockerfile:1

# A static binary, alone in an image, under a user without rights.
#
#   docker build --build-arg VERSION=2026.11.0 --build-arg COMMIT="$(git rev-parse HEAD)" -t storefront .
#   docker run --rm -p 127.0.0.1:8080:8080 -v storefront:/data storefront server --migrate
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS TARGETARCH
ARG VERSION= COMMIT=
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/cache \
    GOCACHE=/cache CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION -X main.commit=$COMMIT" -o /out/storefront ./cmd/storefront
# Where SQLite's files live unless a PostgreSQL database is named; owned by the user below.
RUN install -d -o 65532 -g 65532 /out/data

FROM scratch
ARG VERSION= COMMIT=
LABEL org.opencontainers.image.title="storefront" \
      org.opencontainers.image.description="The API of online stores" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/storefront /storefront
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
WORKDIR /data
VOLUME /data
# The file system may be read-only but for /data: temporary files, of imports, go there too.
ENV TMPDIR=/data
# The admin listener of servers and workers stays on the container's loopback address unless this is set to
# another. Docker asks it there; Kubernetes' probes and load balancers ask /readyz on that listener.
ENV STOREFRONT_ADMIN_ADDR=127.0.0.1:8081
HEALTHCHECK --interval=10s --timeout=4s --start-period=30s CMD ["/storefront", "health"]
EXPOSE 8080
ENTRYPOINT ["/storefront"]
CMD ["server"]
