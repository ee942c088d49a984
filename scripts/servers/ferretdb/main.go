// A MongoDB-compatible server on SQLite, for tests: ferretdb ADDRESS FOLDER, until it is told to stop.
//
// With FERRETDB_TLS_CERT and FERRETDB_TLS_KEY (files, PEM) it listens by TLS only. With FERRETDB_USER and
// FERRETDB_PASSWORD it makes that user in an empty folder, and nobody else gets in.
package main

import (
	"context"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/internal/clientconn"
	"github.com/FerretDB/FerretDB/internal/clientconn/connmetrics"
	"github.com/FerretDB/FerretDB/internal/handler/registry"
	"github.com/FerretDB/FerretDB/internal/util/password"
	"github.com/FerretDB/FerretDB/internal/util/state"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatalf("usage: %s HOST:PORT FOLDER", os.Args[0])
	}
	metrics := connmetrics.NewListenerMetrics()
	options := storage(os.Args[2], metrics)
	requirePassword(options)
	handler, closeStorage, err := registry.NewHandler("sqlite", options)
	if err != nil {
		log.Fatal(err)
	}
	defer closeStorage()
	listening := &clientconn.NewListenerOpts{
		Mode:    clientconn.NormalMode,
		Metrics: metrics,
		Handler: handler,
		Logger:  options.Logger,
	}
	listen(listening, os.Args[1])
	listener, err := clientconn.Listen(listening)
	if err != nil {
		log.Fatal(err)
	}
	running, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	listener.Run(running)
}

func storage(folder string, metrics *connmetrics.ListenerMetrics) *registry.NewHandlerOpts {
	provider, err := state.NewProvider("")
	if err != nil {
		log.Fatal(err)
	}
	if err := provider.Update(func(s *state.State) { s.DisableTelemetry(); s.TelemetryLocked = true }); err != nil {
		log.Fatal(err)
	}
	return &registry.NewHandlerOpts{
		Logger:        slog.Default(),
		ConnMetrics:   metrics.ConnMetrics,
		StateProvider: provider,
		SQLiteURL:     "file:" + folder + "/",
		TestOpts:      registry.TestOpts{CappedCleanupPercentage: 10, BatchSize: 100},
	}
}

// requirePassword switches on passwords as MongoDB has them (SCRAM), which FerretDB's embeddable package leaves off.
// That is why its internal packages are used, and why this module has a name below theirs.
func requirePassword(options *registry.NewHandlerOpts) {
	user := os.Getenv("FERRETDB_USER")
	if user == "" {
		return
	}
	options.EnableNewAuth = true
	options.SetupDatabase = "admin"
	options.SetupUsername = user
	options.SetupPassword = password.WrapPassword(os.Getenv("FERRETDB_PASSWORD"))
}

func listen(options *clientconn.NewListenerOpts, address string) {
	certificate := os.Getenv("FERRETDB_TLS_CERT")
	if certificate == "" {
		options.TCP = address
		return
	}
	options.TLS = address
	options.TLSCertFile = certificate
	options.TLSKeyFile = os.Getenv("FERRETDB_TLS_KEY")
}
