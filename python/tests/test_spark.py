"""Work on a real cluster of two workers: run by tests/run.sh with `spark`."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import copyist
import pytest

pytest.importorskip("pyspark")
from copyist import objects  # noqa: E402
from copyist import spark as sessions  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

TESTDATA = os.path.join(os.path.dirname(__file__), "..", "..", "testdata")
SESSIONS, MESSAGES = 600, 40


@pytest.fixture(scope="module")
def spark():
    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    print(f"\nSpark {spark.version}, {spark.sparkContext.master}")
    yield spark
    spark.stop()


def session(number):
    lines = [{"type": "session", "id": f"s{number}", "timestamp": "2025-11-20T10:00:00.000Z", "cwd": "/w"}]
    for turn in range(MESSAGES):
        message = {"role": "user", "content": f"{number} {turn} " + "x" * 400, "timestamp": 1}
        lines.append({"type": "message", "timestamp": "2025-11-20T10:00:00.000Z", "message": message})
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Sessions of pi 1, a file that is poison, and one that is no session."""
    folder = tmp_path_factory.mktemp("data")
    for number in range(SESSIONS):
        path = folder / f"part{number % 7}" / f"s{number}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text(session(number))
    (folder / "poisoned.jsonl").write_bytes(session(0).encode()[:5000] + b'\x00\xff{"' * 50 + b"\n")
    (folder / "README.md").write_text("No session.")
    return folder


def command(tmp_path, *arguments):
    """Do the same by the command line; return the outcomes by path."""
    report = tmp_path / "command.json"
    copyist.run([*map(str, arguments), "--report", str(report), "-q"])
    inputs = json.loads(report.read_text())["inputs"]
    report.unlink()
    return sorted((one["path"], one["outcome"]) for one in inputs)


def rows(table):
    return sorted((row["path"], row["outcome"]) for row in table.collect())


def tree(folder):
    """The files below a folder and their bytes, without the journals and reports of runs."""
    found = {}
    for place, folders, files in os.walk(folder):
        if sessions.FOLDER in folders:
            folders.remove(sessions.FOLDER)
        for name in files:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def count(pairs, *outcomes):
    return sum(outcome in outcomes for _, outcome in pairs)


def children(process):
    """The processes that a process started, and those that they started."""
    listed = subprocess.run(["ps", "-eww", "-o", "pid=,ppid=,args="], capture_output=True, text=True)
    below, found = {process}, []
    for line in sorted(listed.stdout.splitlines(), key=lambda line: int(line.split()[0])):
        pid, parent, *arguments = line.split(None, 2)
        if int(parent) in below:
            below.add(int(pid))
            found.append((int(pid), " ".join(arguments)))
    return found


class Killer(threading.Thread):
    """Kills a worker, and its Python processes if `all_of_it`, once `is_time`."""

    def __init__(self, spark, is_time, all_of_it=True):
        super().__init__()
        self.driver = spark.sparkContext._gateway.proc.pid
        self.is_time, self.all_of_it, self.killed = is_time, all_of_it, 0

    def run(self):
        end = time.time() + 120
        while not self.is_time():
            if time.time() > end:
                return
            time.sleep(0.01)
        workers = [pid for pid, name in children(self.driver) if "CoarseGrainedExecutorBackend" in name]
        doomed = workers[:1] + [pid for pid, _ in children(workers[0]) if self.all_of_it]
        for pid in doomed:
            os.kill(pid, signal.SIGKILL)
        self.killed += 1


def test_rows_of_all_sessions(spark, data):
    rows = sessions.read_rows(spark, data, "openai", portion_bytes=1 << 20)
    assert rows.where("error is not null").count() == 1
    # Sessions without an answer have no row.
    assert rows.where("row is not null").count() == 0
    testdata = sessions.read_rows(spark, os.path.join(TESTDATA, "pi"), "openai")
    expected = list(copyist.read_rows(os.path.join(TESTDATA, "pi"), "openai"))
    read = [json.loads(row.row) for row in testdata.where("row is not null").collect()]
    assert sorted(map(json.dumps, read)) == sorted(map(json.dumps, expected)) != []


def test_records_equal_those_of_one_machine(spark, data):
    records = sessions.read_sessions(spark, str(data), portion_bytes=1_000_000).cache()
    good = records.where("error is null")
    assert good.where("kind = 'session' and path not like '%poisoned%'").count() == SESSIONS
    assert good.where("kind = 'message' and path not like '%poisoned%'").count() == SESSIONS * MESSAGES
    import pyarrow

    alone = pyarrow.table(copyist.read_arrow(data))
    assert records.count() == alone.num_rows
    assert sorted(r["record"] or "" for r in records.collect()) == sorted(
        r["record"] or "" for r in alone.to_pylist()
    )
    print(f"\nread: {SESSIONS} sessions and 1 poisoned, {records.count()} records, 0 differ from one machine")


@pytest.mark.parametrize("all_of_it", [True, False])
def test_killed_worker_costs_nothing(spark, data, tmp_path, all_of_it):
    out, alone = tmp_path / "out", tmp_path / "alone"
    out.mkdir()
    reports = f"{sessions.FOLDER}/*/0*.report.jsonl"
    killer = Killer(spark, lambda: len(list(out.glob(reports))) >= 5, all_of_it)
    killer.start()
    table = sessions.migrate_sessions(spark, data, out, portion_bytes=300_000)
    killer.join()
    done = rows(table)
    assert killer.killed == 1
    assert done == command(tmp_path, "migrate", data, "--out-dir", alone)
    assert tree(out) == tree(alone)
    assert count(done, "migrated") == SESSIONS
    assert dict(done)[str(data / "poisoned.jsonl")] == "failed"
    migrated = [path for path, outcome in done if outcome == "migrated"]
    print(f"\nmigrate: {SESSIONS} sessions, {killer.killed} worker killed"
          f"{' with its Python processes' if all_of_it else ''}, "
          f"{len(migrated) - len(set(migrated))} twice, {SESSIONS - len(set(migrated))} lost, "
          f"{count(done, 'failed')} poisoned file failed; {len(tree(out))} files equal the command's")


def test_restarted_run_does_nothing_twice(spark, data, tmp_path):
    copy, out, alone = tmp_path / "data", tmp_path / "out", tmp_path / "alone"
    shutil.copytree(data, copy)
    sessions.migrate_sessions(spark, copy, out, portion_bytes=300_000)
    times = {path: path.stat().st_mtime_ns for path in out.glob("part*/*")}
    inodes = {path: path.stat().st_ino for path in out.glob("part*/*")}
    # What a run leaves that was killed between outputs and reports.
    for report in sorted(out.glob(f"{sessions.FOLDER}/1/0*.report.jsonl"))[:3]:
        report.unlink()
    with open(copy / "part0" / "s0.jsonl", "a") as file:
        file.write(session(0).splitlines()[1] + "\n")
    (copy / "part1" / "new.jsonl").write_text(session(1000))
    table = sessions.migrate_sessions(spark, copy, out, portion_bytes=300_000)
    assert rows(table) == command(tmp_path, "migrate", copy, "--out-dir", alone)
    assert tree(out) == tree(alone)
    again = [path for path in inodes if path.stat().st_ino != inodes[path]]
    portion = 300_000 // len(session(0)) + 1
    assert 1 <= len(again) <= 3 * portion + 1
    kept = set(inodes) - set(again)
    assert all(path.stat().st_mtime_ns == times[path] for path in kept)
    third = sessions.migrate_sessions(spark, copy, out, portion_bytes=300_000)
    assert rows(third) == rows(table)
    assert all(path.stat().st_ino in inodes.values() for path in kept)
    print(f"\nrestart: {len(kept)} sessions left alone, {len(again)} done again "
          f"(3 portions without a report, 1 session that grew), 1 new")


def test_other_work_on_the_same_folder_is_refused(spark, data, tmp_path):
    sessions.migrate_sessions(spark, data / "part0", tmp_path / "out")
    with pytest.raises(copyist.CopyistError, match="and this is"):
        sessions.convert_sessions(spark, data / "part0", tmp_path / "out", "canonical")
    with pytest.raises(ValueError):
        sessions.migrate_sessions(spark, data / "part0", data)
    with pytest.raises(ValueError, match="both"):
        sessions.migrate_sessions(spark, "s3://bucket/data", tmp_path / "other")
    [row] = sessions.read_sessions(spark, data / "none").collect()
    assert "No such file" in row["error"]


def test_files_of_others_are_not_replaced(spark, data, tmp_path):
    (tmp_path / "s0.jsonl").write_text("mine")
    table = sessions.migrate_sessions(spark, data / "part0", tmp_path)
    assert (tmp_path / "s0.jsonl").read_text() == "mine"
    assert count(rows(table), "failed") == 1


@pytest.mark.parametrize("work", ["convert", "migrate", "repair"])
def test_every_format_gives_what_the_command_gives(spark, tmp_path, work):
    out, alone = tmp_path / "out", tmp_path / "alone"
    if work == "convert":
        table = sessions.convert_sessions(spark, TESTDATA, out, "pi", portion_bytes=20_000)
        told = command(tmp_path, "convert", "-t", "pi", TESTDATA, "--out-dir", alone)
    elif work == "migrate":
        table = sessions.migrate_sessions(spark, TESTDATA, out, portion_bytes=20_000)
        told = command(tmp_path, "migrate", TESTDATA, "--out-dir", alone)
    else:
        table = sessions.repair_sessions(spark, TESTDATA, out, portion_bytes=20_000)
        told = command(tmp_path, "repair", TESTDATA, "--out-dir", alone)
    assert rows(table) == told
    ours, theirs = tree(out), tree(alone)
    assert sorted(ours) == sorted(theirs)
    differ = [path for path in ours if ours[path] != theirs[path]]
    # A database has times and pages of its own.
    assert all(path.endswith(".db") for path in differ), differ
    outcomes = {outcome: count(told, outcome) for outcome in sorted({o for _, o in told})}
    print(f"\n{work} of testdata: {outcomes}, {len(ours)} files, equal to the command's")


@pytest.fixture(scope="module")
def bucket():
    """A store that speaks S3, and the URI of a folder in it."""
    pytest.importorskip("moto")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = os.path.join(os.path.dirname(sys.executable), "moto_server")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)], **quiet)
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        options = f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
        from pyarrow import fs

        fs.S3FileSystem(
            access_key="key", secret_key="secret", endpoint_override=f"127.0.0.1:{port}", scheme="http",
            region="us-east-1", allow_bucket_creation=True,
        ).create_dir("bucket")
        yield lambda path: f"s3://key:secret@bucket/{path}?{options}"
    finally:
        server.terminate()
        server.wait()


def stored(uri):
    """The objects below a URI, without manifests: their bytes and times."""
    store, root = objects._opened(uri)
    found = {info.path[len(root) + 1:]: info for info in objects._files(store, root)}
    return {
        path: (objects._read(store, info.path), info.mtime_ns)
        for path, info in found.items() if not path.startswith(objects.FOLDER)
    }


def test_object_store_gets_what_the_command_writes(spark, data, tmp_path, bucket):
    some, alone = tmp_path / "some", tmp_path / "alone"
    for folder in range(7):
        for path in sorted((data / f"part{folder}").iterdir())[:10]:
            (some / path.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, some / path.parent.name)
    shutil.copy(data / "poisoned.jsonl", some / "part3")
    shutil.copy(data / "README.md", some)
    source, out = bucket("some"), bucket("out")
    store, root = objects._opened(source)
    for path in some.rglob("*.*"):
        objects._send(store, f"{root}/{path.relative_to(some)}", path)
    done = lambda: len(set(objects.committed(out))) >= 10  # noqa: E731
    killer = Killer(spark, done)
    killer.start()
    table = sessions.migrate_sessions(spark, source, out, portion_bytes=1000)
    killer.join()
    assert killer.killed == 1
    told = command(tmp_path, "migrate", some, "--out-dir", alone)
    there = lambda path: "s3://bucket/some" + path[len(str(some)):]  # noqa: E731
    assert rows(table) == sorted((there(path), outcome) for path, outcome in told)
    assert "secret" not in str(table.collect())
    store, root = objects._opened(out)
    manifests = objects._files(store, f"{root}/{objects.FOLDER}")
    assert len(manifests) == 8
    assert not any(b"secret" in objects._read(store, info.path) for info in manifests)
    first = stored(out)
    assert {path: data for path, (data, _) in first.items()} == tree(alone)
    assert sorted(objects.committed(out)) == sorted(first)
    records = sessions.read_sessions(spark, out)
    assert records.where("kind = 'session' and error is null").count() == 70
    assert records.select("path").distinct().count() == 70
    time.sleep(1.1)
    again = sessions.migrate_sessions(spark, source, out, portion_bytes=1000)
    assert rows(again) == rows(table)
    assert stored(out) == first
    with pytest.raises(Exception, match="other work"):
        sessions.repair_sessions(spark, source, out)
    other = bucket("other")
    store, root = objects._opened(other)
    objects._write(store, f"{root}/part0/s0.jsonl", b"mine")
    table = sessions.migrate_sessions(spark, source, other)
    assert stored(other)["part0/s0.jsonl"][0] == b"mine"
    assert count(rows(table), "failed") == 2
    print(f"\nobject store: 70 sessions, {killer.killed} worker killed, {len(first)} objects equal the "
          "command's files, 0 twice, 0 lost, 1 poisoned file failed; restarted: 0 written; "
          "1 object of someone else left alone")


def test_session_that_kills_its_process_costs_itself_only(tmp_path, monkeypatch):
    """Without a cluster: each attempt is a process that one session kills."""
    for number in range(5):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"s{number}.jsonl").write_text(session(number))
    request = sessions._request("migrate", tmp_path / "out")
    portions, count, header, _, _ = copyist._copyist.plan(request, tmp_path / "in", [], 1 << 20, 99)
    assert (len(portions), count) == (1, 5)
    whole = copyist._copyist.run_portion

    def deadly(request, portion, journal, header):
        if b"s3.jsonl" in portion:
            os._exit(9)
        return whole(request, portion, journal, header)

    monkeypatch.setattr(copyist._copyist, "run_portion", deadly)
    (tmp_path / "out" / "1").mkdir(parents=True)
    place = str(tmp_path / "out" / "1" / "000000")
    ends = []
    for attempt in range(4):
        child = os.fork()
        if child == 0:
            sessions._work(request, portions[0], place, 1, header, attempt)
            os._exit(0)
        ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        if ends[-1] == 0:
            break
    assert ends == [9, 9, 0]
    with open(place + ".report.jsonl") as file:
        outcomes = [json.loads(line)["outcome"] for line in file]
    assert outcomes == ["migrated"] * 3 + ["failed", "migrated"]
