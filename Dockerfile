# A static binary in an empty image. Built by docker-compose.yml.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/nsweep ./cmd/nsweep

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/nsweep /nsweep
# No root, no home, nothing to write: all state is in Redis.
USER 65534:65534
ENTRYPOINT ["/nsweep"]
CMD ["--help"]
