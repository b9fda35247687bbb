package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"k8s.io/client-go/rest"
)

// openAPI reads the description of everything as protobuf, as clients that validate do, and discovery.
func openAPI(ctx context.Context, w *world) error {
	document, err := w.client.Discovery().OpenAPISchema()
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, named := range document.GetDefinitions().GetAdditionalProperties() {
		names[named.GetName()] = true
	}
	if err := expect(document.GetSwagger() == "2.0" && names["io.k8s.api.core.v1.ConfigMap"], "a document with definitions, got %d", len(names)); err != nil {
		return err
	}
	paths := map[string]bool{}
	for _, named := range document.GetPaths().GetPath() {
		paths[named.GetName()] = true
	}
	if err := expect(paths["/api/v1/namespaces/{namespace}/configmaps/{name}"], "paths, got %d", len(paths)); err != nil {
		return err
	}
	_, lists, err := w.client.Discovery().ServerGroupsAndResources()
	if err != nil {
		return err
	}
	if err := expect(len(lists) > 1, "groups, got %v", lists); err != nil {
		return err
	}
	text, err := swagger(ctx, w.config)
	if err != nil {
		return err
	}
	parsed, err := openapi_v2.ParseDocument(text)
	if err != nil {
		return err
	}
	plain(parsed.ProtoReflect())
	plain(document.ProtoReflect())
	return expect(proto.Equal(parsed, document), "both forms to say the same")
}

// swagger asks for the JSON form.
func swagger(ctx context.Context, config *rest.Config) ([]byte, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/openapi/v2", nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	return io.ReadAll(response.Body)
}

// plain is a message without the way in which values of any type are written.
func plain(message protoreflect.Message) {
	if any, ok := message.Interface().(*openapi_v2.Any); ok {
		var value yaml.Node
		if yaml.Unmarshal([]byte(any.Yaml), &value) == nil {
			unstyled(&value)
			text, _ := yaml.Marshal(&value)
			any.Yaml = string(text)
		}
		return
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				plain(value.List().Get(i).Message())
			}
		default:
			plain(value.Message())
		}
		return true
	})
}

func unstyled(node *yaml.Node) {
	node.Style = 0
	for _, inner := range node.Content {
		unstyled(inner)
	}
}
