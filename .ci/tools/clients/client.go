// Asks a server for a document, with OPA's own client of OPA's REST interface. Arguments: the server's address,
// the path of the document, and the file of the input.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/open-policy-agent/opa/v1/plugins/rest"
	"github.com/open-policy-agent/opa/v1/server/types"
	"github.com/open-policy-agent/opa/v1/util"
)

func ask(address, path, file string) (*types.DataResponseV1, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var input any
	if err := util.UnmarshalJSON(text, &input); err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`{"name": "server", "url": %q}`, address)
	client, err := rest.New([]byte(config), nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.WithJSON(types.DataRequestV1{Input: &input}).Do(context.Background(), "POST", "/v1/data/"+path)
	if err != nil {
		return nil, err
	}
	defer util.Close(answer)
	if answer.StatusCode != 200 {
		return nil, fmt.Errorf("status %d", answer.StatusCode)
	}
	var data types.DataResponseV1
	return &data, json.NewDecoder(answer.Body).Decode(&data)
}

func main() {
	data, err := ask(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(data.Result)
}
