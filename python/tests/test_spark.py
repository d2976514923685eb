"""Work on a real cluster of two workers: run by tests/run.sh with `spark`."""

import json
import os
import signal
import subprocess
import threading
import time

import copyist
import pytest

pyspark = pytest.importorskip("pyspark")
from copyist import spark as sessions  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

SESSIONS = 600


@pytest.fixture(scope="module")
def spark():
    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.adaptive.enabled", "false")
        .getOrCreate()
    )
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sessions")
    for n in range(SESSIONS):
        lines = [{"type": "session", "id": f"s{n}", "timestamp": "2025-11-20T10:00:00.000Z", "cwd": "/w"}]
        for m in range(40):
            message = {"role": "user", "content": f"{n} {m} " + "x" * 400, "timestamp": 1}
            lines.append({"type": "message", "timestamp": "2025-11-20T10:00:00.000Z", "message": message})
        path = folder / f"part{n % 7}" / f"s{n}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "poisoned.jsonl").write_bytes(b'{"type":"session"\x00\xff' * 50)
    return folder


def test_totals_are_those_of_one_machine(spark, data):
    records = sessions.read_sessions(spark, str(data))
    good = records.where("error is null")
    assert good.where("kind = 'message'").count() == SESSIONS * 40
    assert good.where("kind = 'session'").count() == SESSIONS


def test_a_killed_worker_costs_nothing(spark, data, tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "TASK_BYTES", 200_000)
    monkeypatch.setattr(sessions.tasks, "__defaults__", (200_000, 4096))
    killed = []

    def kill():
        time.sleep(2)
        found = subprocess.run(["pgrep", "-f", "CoarseGrainedExecutorBackend"], capture_output=True, text=True)
        for process in found.stdout.split()[:1]:
            os.kill(int(process), signal.SIGKILL)
            killed.append(process)

    thread = threading.Thread(target=kill)
    thread.start()
    report = sessions.migrate_sessions(spark, str(data), str(tmp_path)).toPandas()
    thread.join()
    done = report[report["outcome"].isin(["migrated", "done"])]
    assert len(done) == SESSIONS
    assert done["path"].nunique() == SESSIONS
    alone = tmp_path / "alone"
    copyist.migrate(str(data), out_dir=alone)
    for path in done["path"]:
        below = os.path.relpath(path, data)
        with open(tmp_path / below, "rb") as ours, open(alone / below, "rb") as theirs:
            assert ours.read() == theirs.read()
    again = sessions.migrate_sessions(spark, str(data), str(tmp_path)).toPandas()
    assert (again["outcome"] == "done").sum() == SESSIONS
    print(f"\n{SESSIONS} sessions, {len(killed)} executors killed, {len(done)} done, "
          f"{len(done) - done['path'].nunique()} twice, {SESSIONS - done['path'].nunique()} lost")
