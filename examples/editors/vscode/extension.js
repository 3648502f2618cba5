// VS Code with `rego-platform lsp`: see docs/guides/editors.md.
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const server = { command: "rego-platform", args: ["lsp"] };
  const documents = { documentSelector: [{ language: "rego" }, { language: "yaml" }] };
  client = new LanguageClient("rego-platform", server, documents);
  return client.start();
};

exports.deactivate = () => client?.stop();
