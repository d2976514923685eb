"""The package as a user has it: run by tests/run.sh in a fresh virtual environment."""

import ast
import doctest
import functools
import inspect
import json
import os
import pathlib
import signal
import threading
import time

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


def documented():
    """The public names, and what their documentation says."""
    yield "copyist", copyist.__doc__
    for name in copyist.__all__:
        value = getattr(copyist, name)
        yield name, value.__doc__
        if isinstance(value, type) and value is not copyist.CopyistError:
            for part, inside in vars(value).items():
                if not part.startswith("__"):
                    yield f"{name}.{part}", getattr(inside, "__func__", inside).__doc__


def test_readme_shows_what_is_printed(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    readme = pathlib.Path(__file__).parent.with_name("README.md").read_text()
    text = readme.split("```python\n")[1].split("```")[0]
    examples = doctest.DocTestParser().get_doctest(text, {}, "README", None, None)
    assert len(examples.examples) == 10
    assert doctest.DocTestRunner().run(examples).failed == 0


PLAIN = {"format", "path", "leaf", "header", "entries", "entry", "children", "label", "messages"}


@pytest.mark.parametrize("name, text", [*documented()], ids=lambda value: str(value)[:24])
def test_documentation_has_examples_that_run(name, text, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    assert text, name
    examples = doctest.DocTestParser().get_doctest(text, {"copyist": copyist}, name, None, None)
    assert examples.examples or name.removeprefix("Session.") in PLAIN
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_stubs_name_everything(tmp_path):
    """Each public name, and each method with its parameters, stands in the stubs."""
    source = pathlib.Path(copyist.__file__).with_suffix(".pyi").read_text()
    stubs = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    stubs[f"{node.name}.{part.name}"] = part
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            stubs[node.name] = node
    for name, _ in documented():
        if name == "copyist":
            continue
        assert name in stubs, name
        value = functools.reduce(getattr, name.split("."), copyist)
        if callable(value) and not isinstance(value, type):
            written = stubs[name].args
            rest = [written.kwarg] if written.kwarg else []
            written = [one.arg for one in written.args + written.kwonlyargs + rest]
            assert written == [*inspect.signature(value).parameters], name


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
    assert {report["outcome"] for report in copyist.validate(str(tmp_path))} <= {"valid", "refused", "invalid", "skipped"}


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


def test_wrong_use_is_an_exception_that_says_so(tmp_path):
    """What a stranger tries."""
    session = copyist.in_memory("pi", "/work")
    with pytest.raises(copyist.CopyistError, match="nonsense"):
        copyist.in_memory("nonsense", "/work")
    with pytest.raises(copyist.CopyistError):
        copyist.convert(tmp_path / "none.jsonl", "nonsense", out_dir=tmp_path)
    for wrong in (None, 7, [None]):
        with pytest.raises(TypeError):
            copyist.detect(wrong)
    with pytest.raises(TypeError):
        session.append_message()
    for wrong in (object(), {1: object()}, {"role": {"user"}}, "Hello", None, b"x"):
        with pytest.raises((ValueError, copyist.CopyistError)):
            session.append_message(wrong)
    (tmp_path / "s.jsonl").write_text("{}")
    for places in ({}, {"output": tmp_path / "o", "out_dir": tmp_path}, {"out_dir": tmp_path, "in_place": True}):
        with pytest.raises(ValueError, match="place"):
            copyist.migrate(tmp_path / "s.jsonl", **places)
    with pytest.raises(copyist.CopyistError):
        session.branch("none")
    with pytest.raises(ValueError, match="nonsense"):
        session.context("nonsense")
    with pytest.raises(copyist.CopyistError, match="list"):
        copyist.in_memory("connectonion", "/work").branch()
    stream = copyist.read_arrow(tmp_path)
    stream.__arrow_c_stream__()
    with pytest.raises(RuntimeError):
        stream.__arrow_c_stream__()
    assert session.messages() == []


def test_damage_has_a_line_and_a_byte(tmp_path):
    (tmp_path / "torn.jsonl").write_text(
        '{"type":"session","version":3,"id":"s","timestamp":"2025-11-20T10:00:00.000Z","cwd":"/w"}\n{"type":"mess\n'
    )
    with pytest.raises(copyist.CopyistError) as raised:
        copyist.migrate(tmp_path / "torn.jsonl", output=tmp_path / "new.jsonl")
    assert (raised.value.code[:2], raised.value.line) == ("CY", 2)
    assert raised.value.byte > 90
    [report] = copyist.validate(tmp_path / "torn.jsonl")
    assert report["diagnostics"][0]["line"] == 2


def test_paths_may_be_any_iterable(tmp_path):
    for number in range(3):
        session = copyist.create("pi", "/work", tmp_path / str(number))
        session.append_message(talk()[0])
    assert len(copyist.detect(tmp_path.glob("*/*.jsonl"))) == 3
    assert len(copyist.detect({str(tmp_path / "0"), str(tmp_path / "1")})) == 2


def many(folder, count=3000):
    folder.mkdir()
    head = '{"type":"session","id":"s","timestamp":"2025-11-20T10:00:00.000Z","cwd":"/w"}\n'
    line = '{"type":"message","timestamp":"2025-11-20T10:00:00.000Z","message":{"role":"user","content":"Hello","timestamp":1}}\n'
    for number in range(count):
        (folder / f"{number}.jsonl").write_text(head + line * 100)


def test_other_threads_go_on_during_work(tmp_path):
    many(tmp_path / "in")
    ticks, done = 0, threading.Event()

    def work():
        copyist.migrate(tmp_path / "in", out_dir=tmp_path / "out", threads=1)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        time.sleep(0.001)
        ticks += 1
    thread.join()
    assert ticks > 20


def test_ctrl_c_ends_work(tmp_path):
    many(tmp_path / "in")
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            copyist.migrate(tmp_path / "in", out_dir=tmp_path / "out", force=True, threads=1)


def test_the_command_is_there(capfd):
    assert copyist.run(["formats"]) == 0
    assert "connectonion" in capfd.readouterr().out
    assert copyist.run(["explain", "CY0103"]) == 0


def talks(folder):
    """Three sessions, of which one cannot be read."""
    for number in range(2):
        session = copyist.create("pi", "/work", folder / str(number))
        session.append_message({"role": "user", "content": f"Hello {number}"})
        session.append_message({"role": "assistant", "content": "Hello!"})
    torn = copyist.create("pi", "/work", folder / "torn")
    torn.append_message({"role": "user", "content": "Hello"})
    with open(torn.path, "a") as file:
        file.write('{"type":"mess')
    return folder


def test_sessions_are_rows_one_by_one(tmp_path):
    talks(tmp_path)
    with pytest.warns(UserWarning, match="torn"):
        rows = list(copyist.read_rows(tmp_path, "trl"))
    assert [row["messages"][0]["content"] for row in rows] == ["Hello 0", "Hello 1"]
    with pytest.raises(ValueError, match="sharegpt"):
        next(copyist.read_rows(tmp_path, "trl2"))
    with pytest.raises(ValueError, match="several lines"):
        next(copyist.read_rows(tmp_path, "sts"))


def test_rows_are_exported_and_read_back(tmp_path):
    talks(tmp_path / "in")
    out = tmp_path / "out"
    card = copyist.export(tmp_path / "in", "openai", out_dir=out, split="train=1", dedup=True)
    assert (card["rows"], len(card["failed"])) == ({"train": 2}, 1)
    [file] = out.glob("*.jsonl")
    assert list(copyist.read_rows(file, "openai")) == [json.loads(line) for line in open(file)]
    assert len(copyist.convert(file, "pi", out_dir=tmp_path / "back")) == 2
    with pytest.raises(ValueError):
        copyist.export(tmp_path / "in", "openai", out_dir=out, nonsense=1)
