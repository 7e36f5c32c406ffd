// The test adapter of custom-metrics-apiserver, which is a real aggregated API server, with its values written over an
// address of our own: the original takes port 8080. See tests/live/cluster/test_custom_metrics.py.
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/emicklei/go-restful/v3"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/cmd"
	"sigs.k8s.io/custom-metrics-apiserver/test-adapter/provider"
)

func main() {
	adapter := &cmd.AdapterBase{Name: "metrics-adapter"}
	values := adapter.Flags().String("values-address", "", "where values are written")
	if err := adapter.Flags().Parse(os.Args); err != nil {
		log.Fatal(err)
	}
	client, err := adapter.DynamicClient()
	if err != nil {
		log.Fatal(err)
	}
	mapper, err := adapter.RESTMapper()
	if err != nil {
		log.Fatal(err)
	}
	metrics, service := provider.NewFakeProvider(client, mapper)
	adapter.WithCustomMetrics(metrics)
	adapter.WithExternalMetrics(metrics)
	restful.DefaultContainer.Add(service)
	go func() { log.Fatal(http.ListenAndServe(*values, nil)) }()
	log.Fatal(adapter.Run(context.Background()))
}
