// A client of the Go SDK. It reads from stdin where the server is and what to run there, and prints as JSON what it
// saw; see tests/kit/mcp_clients.py.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type task struct {
	Transport string            `json:"transport"`
	Command   []string          `json:"command"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
	Steps     []step            `json:"steps"`
	Page      string            `json:"page"`
}

type step struct {
	Name    string `json:"name"`
	Script  string `json:"script"`
	Follow  bool   `json:"follow"`
	Abandon bool   `json:"abandon"`
}

type answer struct {
	Text     string   `json:"text"`
	IsError  bool     `json:"is_error"`
	GivenUp  bool     `json:"given_up"`
	Progress []report `json:"progress"`
}

type report [3]any

type visit struct {
	Version string            `json:"version"`
	Tools   []string          `json:"tools"`
	Page    string            `json:"page"`
	Answers map[string]answer `json:"answers"`
}

// client collects the progress of each call by its token, the name of the step.
type client struct {
	session  *mcp.ClientSession
	mutex    sync.Mutex
	progress map[any][]report
	abandon  map[any]context.CancelFunc
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var given task
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		return err
	}
	seen, err := perform(ctx, given)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

func perform(ctx context.Context, given task) (*visit, error) {
	c := &client{progress: map[any][]report{}, abandon: map[any]context.CancelFunc{}}
	options := &mcp.ClientOptions{ProgressNotificationHandler: c.onProgress}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, options).Connect(ctx, given.transport(), nil)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	defer session.Close()
	c.session = session
	seen := &visit{Version: session.InitializeResult().ProtocolVersion, Answers: map[string]answer{}}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("tools/list: %w", err)
	}
	for _, tool := range tools.Tools {
		seen.Tools = append(seen.Tools, tool.Name)
	}
	page, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: given.Page})
	if err != nil {
		return nil, fmt.Errorf("resources/read: %w", err)
	}
	seen.Page = page.Contents[0].Text
	for _, next := range given.Steps {
		if seen.Answers[next.Name], err = c.call(ctx, next); err != nil {
			return nil, fmt.Errorf("%s: %w", next.Name, err)
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	// Not earlier: the SDK may hand over a notification after the answer that followed it.
	for name, found := range seen.Answers {
		found.Progress = c.progress[name]
		seen.Answers[name] = found
	}
	return seen, nil
}

// transport returns the way to the server that the task names.
func (t *task) transport() mcp.Transport {
	web := &http.Client{Transport: withHeaders(t.Headers)}
	switch t.Transport {
	case "stdio":
		command := exec.Command(t.Command[0], t.Command[1:]...)
		command.Stderr = os.Stderr
		return &mcp.CommandTransport{Command: command}
	case "sse":
		return &mcp.SSEClientTransport{Endpoint: t.URL, HTTPClient: web}
	default:
		return &mcp.StreamableClientTransport{Endpoint: t.URL, HTTPClient: web}
	}
}

// withHeaders adds headers to every request.
type withHeaders map[string]string

func (h withHeaders) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	for name, value := range h {
		request.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(request)
}

// call runs one script. A step that is abandoned is given up once all is reported as done.
func (c *client) call(ctx context.Context, next step) (answer, error) {
	params := &mcp.CallToolParams{Name: "evaluate_script", Arguments: map[string]any{"script": next.Script}}
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	if next.Follow || next.Abandon {
		params.SetProgressToken(next.Name)
	}
	if next.Abandon {
		c.mutex.Lock()
		c.abandon[next.Name] = giveUp
		c.mutex.Unlock()
	}
	result, err := c.session.CallTool(ctx, params)
	if next.Abandon && ctx.Err() != nil {
		return answer{GivenUp: true}, nil
	}
	if err != nil {
		return answer{}, err
	}
	text, _ := result.Content[0].(*mcp.TextContent)
	return answer{Text: text.Text, IsError: result.IsError}, nil
}

func (c *client) onProgress(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	params := request.Params
	c.progress[params.ProgressToken] = append(c.progress[params.ProgressToken], report{params.Progress, params.Total, params.Message})
	if giveUp, found := c.abandon[params.ProgressToken]; found && params.Progress == params.Total {
		giveUp()
	}
}
