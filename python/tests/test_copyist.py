"""The package as a user has it: run by tests/run.sh in a fresh virtual environment."""

import doctest
import json
import os

import copyist
import pytest

TESTDATA = os.path.join(os.path.dirname(__file__), "..", "..", "testdata")


def talk():
    return [
        {"role": "user", "content": "List the files."},
        {"role": "assistant", "content": [
            {"type": "tool_call", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}]},
        {"role": "tool", "content": [
            {"type": "tool_result", "call": "c1", "name": "bash", "content": "README.md"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "One file."}]},
    ]


def test_documentation():
    assert doctest.testmod(copyist).failed == 0
    assert doctest.testmod(copyist._copyist).failed == 0


def test_a_session_is_written_read_and_branched(tmp_path):
    session = copyist.create("pi", "/work", tmp_path)
    ids = [session.append_message(message) for message in talk()]
    assert session.leaf == ids[-1]
    session.append_label(ids[0], "start")
    session.branch(ids[0])
    other = session.append_message({"role": "assistant", "content": [{"type": "text", "text": "No."}]})
    read = copyist.open(session.path)
    assert read.format == "pi@3"
    assert [message["role"] for message in read.messages()] == ["user", "assistant"]
    assert read.leaf == other
    assert read.label(ids[0]) == "start"
    assert {node["id"]: len(node["children"]) for node in read.tree()}[ids[0]] == 2
    assert [m["role"] for m in read.context("anthropic")["messages"]] == ["user", "assistant"]
    fork = read.fork(ids[-1])
    assert [m["role"] for m in fork.messages()] == ["user", "assistant", "tool", "assistant"]
    assert fork.header["parent_session"]["path"] == str(read.path)


def test_there_and_back(tmp_path):
    session = copyist.create("pi", "/work", tmp_path)
    for message in talk():
        session.append_message(message)
    away, back = tmp_path / "away.yaml", tmp_path / "back.jsonl"
    assert copyist.convert(session.path, "connectonion@2", output=away)[0]["outcome"] == "converted"
    copyist.convert(away, "pi", output=back)
    with open(back, "rb") as ours, open(session.path, "rb") as theirs:
        assert ours.read() == theirs.read()


def test_errors_have_a_code_and_a_place(tmp_path):
    with pytest.raises(copyist.CopyistError) as raised:
        copyist.open(tmp_path / "none.jsonl")
    assert raised.value.code.startswith("CY")
    session = copyist.in_memory("pi", "/work")
    with pytest.raises(copyist.CopyistError) as raised:
        session.append_message({"role": "user", "words": 1})
    assert raised.value.code == "CY0501"
    assert session.messages() == []


def test_folders(tmp_path):
    inputs = os.path.join(TESTDATA, "pi", "v1")
    reports = copyist.migrate(inputs, out_dir=tmp_path)
    assert {report["outcome"] for report in reports} <= {"migrated", "unchanged", "failed", "skipped"}
    assert any(report["outcome"] == "migrated" for report in reports)
    assert copyist.list(str(tmp_path))
    assert {report["outcome"] for report in copyist.validate(str(tmp_path))} <= {"valid", "invalid", "skipped"}


def test_arrow_has_every_record(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    session = copyist.create("pi", "/work", tmp_path)
    for message in talk():
        session.append_message(message)
    (tmp_path / "torn.jsonl").write_text('{"type":"session"')
    table = pyarrow.table(copyist.read_arrow(tmp_path))
    rows = [row for row in table.to_pylist() if row["error"] is None and row["path"] == str(session.path)]
    assert [row["kind"] for row in rows] == ["session"] + ["message"] * 4
    assert [row["role"] for row in rows[1:]] == ["user", "assistant", "tool", "assistant"]
    assert [json.loads(row["record"])["kind"] for row in rows] == [row["kind"] for row in rows]


def test_the_command_is_there(capfd):
    assert copyist.run(["formats"]) == 0
    assert "connectonion" in capfd.readouterr().out
    assert copyist.run(["explain", "CY0103"]) == 0
