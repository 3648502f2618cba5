"""Sessions of editors with `rego-platform lsp`, with what VS Code and Neovim say they can do.

pytest-lsp holds each answer against the protocol and against these abilities.
"""

import asyncio
import os
import pathlib

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

COMMAND = os.environ.get("REGO_PLATFORM", "rego-platform")

LIB = """package lib

# Trusted images.
trusted(image) if startswith(image, "registry/")
"""

MAIN = """package main

import data.lib

deny contains sprintf("%v has no SBOM", [image]) if {
	some image in input.images
	not lib.trusted(image)
	not has_sbom(image)
}

has_sbom(image) if {
	found := platform.discover(image, "")
	found.kind == "SBOM_SPDX_JSON"
}
"""

TEST = """package main_test

import data.main

test_denied if count(main.deny) == 1 with input as {"images": ["sha256:0"]}
	with platform.discover as {"digest": "sha256:0", "kind": "SARIF", "references": []}
"""


class Session:
    """An editor with a folder."""

    def __init__(self, client: LanguageClient, folder: pathlib.Path):
        self.client, self.folder, self.version = client, folder, 1

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def document(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))

    def open(self, name: str):
        text = (self.folder / name).read_text()
        item = types.TextDocumentItem(self.uri(name), "rego", self.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return text

    def type(self, name: str, text: str):
        self.version += 1
        document = types.VersionedTextDocumentIdentifier(self.version, self.uri(name))
        changes = [types.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, changes))

    async def findings(self, name: str, *codes: str):
        """Waits until a file has these findings."""
        while True:
            found = self.client.diagnostics.get(self.uri(name), [])
            if [one.code for one in found] == list(codes):
                return found
            published = self.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
            try:
                await asyncio.wait_for(published, 60)
            except asyncio.TimeoutError:
                pytest.fail(f"{name} has other findings: {found}")

    def place(self, text: str, marked: str) -> types.Position:
        before = text[: text.index(marked.replace("|", "")) + marked.index("|")]
        return types.Position(before.count("\n"), len(before.rsplit("\n", 1)[-1]))


def applied(text: str, edits) -> str:
    lines = text.splitlines(keepends=True)

    def offset(at):
        return sum(map(len, lines[: at.line])) + at.character

    for edit in sorted(edits, key=lambda edit: -offset(edit.range.start)):
        start, end = offset(edit.range.start), offset(edit.range.end)
        text = text[:start] + edit.new_text + text[end:]
    return text


@pytest_lsp.fixture(
    config=ClientServerConfig(server_command=[COMMAND, "lsp"]),
    params=["visual-studio-code", "neovim"],
)
async def client(request, lsp_client: LanguageClient, tmp_path: pathlib.Path):
    for name, text in {"lib.rego": LIB, "main.rego": MAIN, "main_test.rego": TEST}.items():
        (tmp_path / name).write_text(text)
    folder = types.WorkspaceFolder(tmp_path.as_uri(), tmp_path.name)
    capabilities = client_capabilities(request.param)
    await lsp_client.initialize_session(
        types.InitializeParams(capabilities=capabilities, workspace_folders=[folder])
    )
    yield
    await lsp_client.shutdown_session()


@pytest.fixture
def session(client: LanguageClient, tmp_path: pathlib.Path):
    return Session(client, tmp_path)


@pytest.mark.asyncio
async def test_what_is_typed_wrongly_is_found_and_fixed(session: Session):
    text = session.open("main.rego")
    session.type("main.rego", text.replace("trusted", "trustd"))
    (found,) = await session.findings("main.rego", "unknown-function")
    assert "did you mean `data.lib.trusted`?" in found.message
    params = types.CodeActionParams(
        session.document("main.rego"), found.range, types.CodeActionContext([found])
    )
    (action,) = await session.client.text_document_code_action_async(params)
    (edits,) = action.edit.changes.values()
    assert applied(text.replace("trusted", "trustd"), edits) == text
    session.type("main.rego", text)
    await session.findings("main.rego")


@pytest.mark.asyncio
async def test_a_change_is_seen_in_the_files_that_use_it(session: Session):
    session.open("main.rego")
    session.open("lib.rego")
    session.type("lib.rego", LIB.replace("trusted(image)", "trusted(image, tag)"))
    (found,) = await session.findings("main.rego", "arity")
    assert found.range.start.line == MAIN[: MAIN.index("lib.trusted(")].count("\n")
    session.client.text_document_did_close(
        types.DidCloseTextDocumentParams(session.document("lib.rego"))
    )
    await session.findings("main.rego")


@pytest.mark.asyncio
async def test_names_are_completed_and_explained(session: Session):
    text = session.open("main.rego")
    document = session.document("main.rego")

    async def complete(new: str, marked: str):
        session.type("main.rego", text.replace('found.kind == "SBOM_SPDX_JSON"', new))
        current = text.replace('found.kind == "SBOM_SPDX_JSON"', new)
        params = types.CompletionParams(document, session.place(current, marked))
        items = await session.client.text_document_completion_async(params)
        return {item.label for item in items}

    assert {"digest", "kind", "references"} <= await complete("found.", "found.|\n")
    assert {"SARIF", "SBOM_SPDX_JSON"} <= await complete('found.kind == ""', '"|"\n')
    assert {"discover", "evidence"} <= await complete("platform.", "\tplatform.|\n")
    assert await complete("lib.", "\tlib.|\n") == {"trusted"}
    session.type("main.rego", text)
    hover = types.HoverParams(document, session.place(text, "lib.trus|ted"))
    shown = await session.client.text_document_hover_async(hover)
    assert "Trusted images." in shown.contents.value
    definition = types.DefinitionParams(document, session.place(text, "lib.trus|ted"))
    (target,) = await session.client.text_document_definition_async(definition)
    assert target.uri == session.uri("lib.rego")


@pytest.mark.asyncio
async def test_a_function_is_renamed_in_all_files(session: Session):
    text = session.open("main.rego")
    at = (session.document("main.rego"), session.place(text, "lib.trus|ted"))
    prepared = await session.client.text_document_prepare_rename_async(types.PrepareRenameParams(*at))
    assert prepared.placeholder == "trusted"
    edit = await session.client.text_document_rename_async(types.RenameParams(*at, "signed"))
    for name, before in {"lib.rego": LIB, "main.rego": MAIN}.items():
        after = applied(before, edit.changes[session.uri(name)])
        (session.folder / name).write_text(after)
        assert "trusted(" not in after and "signed(" in after
    session.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([]))
    session.type("main.rego", (session.folder / "main.rego").read_text())
    await session.findings("main.rego")
    taken = types.RenameParams(session.document("main.rego"), session.place(text, "not has|_sbom"), "deny")
    with pytest.raises(Exception, match="conflicting name: `data.main.deny` exists"):
        await session.client.text_document_rename_async(taken)


@pytest.mark.asyncio
async def test_tests_and_rules_run_from_their_lenses(session: Session):
    (session.folder / "input.json").write_text('{"images": []}')

    async def run(name: str, rule: str):
        session.open(name)
        params = types.CodeLensParams(session.document(name))
        lenses = await session.client.text_document_code_lens_async(params)
        (command,) = [lens.command for lens in lenses if lens.command.arguments[1][-1] == rule]
        params = types.ExecuteCommandParams(command.command, command.arguments)
        outcome = await session.client.workspace_execute_command_async(params)
        # What the editor shows.
        assert session.client.messages[-1].message == outcome
        return outcome

    assert await run("main_test.rego", "test_denied") == "data.main_test.test_denied: passed"
    assert await run("main.rego", "deny") == "data.main.deny with input.json: []"


@pytest.mark.asyncio
async def test_a_text_that_can_not_be_parsed_keeps_what_was_known(session: Session):
    text = session.open("main.rego")
    session.type("main.rego", text + "\nx := (\n")
    await session.findings("main.rego", "parse-error", "parse-error")
    document = session.document("main.rego")
    options = types.FormattingOptions(4, False)
    formatting = types.DocumentFormattingParams(document, options)
    assert await session.client.text_document_formatting_async(formatting) is None
    symbols = types.DocumentSymbolParams(document)
    names = [one.name for one in await session.client.text_document_document_symbol_async(symbols)]
    assert names == ["deny", "has_sbom"]
    session.type("main.rego", text.replace("\tnot has", "  not has"))
    await session.findings("main.rego")
    edits = await session.client.text_document_formatting_async(formatting)
    assert applied(text.replace("\tnot has", "  not has"), edits) == text
