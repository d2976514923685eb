"""Sessions on a Spark cluster, with the same core on every worker.

>>> from copyist import spark as sessions                                    # doctest: +SKIP
>>> records = sessions.read_sessions(spark, "/data/sessions")                # doctest: +SKIP
>>> table = sessions.migrate_sessions(spark, "/data/sessions", "/data/new")  # doctest: +SKIP

The driver and all workers need this package, and must reach the files under the same paths: a shared
or mounted file system.

The driver plans: it finds the sessions and their sizes, assigns names to the outputs, and divides the
work into portions. A worker does a portion as the command does, so outputs appear whole or not at
all, and records it in a journal below `out_dir/copyist-run`. A portion is done when its report is
there. What is done is not done again, whether the driver, a worker or the whole cluster was killed
before the end: call the function again with the same arguments.

Folders of object stores are named by URI (`s3://bucket/sessions`), both for inputs and outputs; see
`copyist.objects` for how their outputs are committed.
"""

import itertools
import json
import os
import zlib

from . import _copyist, objects

RECORDS = (
    "path string, format string, line long, kind string, id string, parent string, time string, "
    "role string, text string, provider string, model string, input_tokens long, "
    "output_tokens long, synthesized boolean, record string, error string"
)
"""The columns of `read_sessions`. `record` is the record as an object of the canonical stream."""

ROWS = "path string, row string, error string"
"""The columns of `read_rows`. `row` is the row as JSON."""

REPORT = "path string, outcome string, output string, bytes long, run int, report string"
"""The columns of the table on a run. `report` is the report of the command as JSON."""

PORTION_BYTES = 64 << 20
"""Number of bytes of sessions in a portion: about a second of work, so that a lost worker costs
little."""

PORTION_SESSIONS = 4096
"""Largest number of sessions in a portion."""

FOLDER = "copyist-run"
"""The folder below `out_dir` for journals and reports, with a folder for each run."""


def read_sessions(spark, paths, *, portion_bytes=PORTION_BYTES, depth=1):
    """Return a DataFrame of the records of all sessions in files and folders, with the columns
    `RECORDS`. A file that cannot be read is one row with an `error`. `depth` is that of the units of
    an object store."""
    if objects.is_uri(paths):
        return _read_objects(spark, paths, portion_bytes, depth)
    portions = _portions_of(paths, portion_bytes)

    def read(batches):
        import pyarrow

        for _, portion in _rows(batches):
            stream = _copyist.read_portion(portion)
            yield from map(_signed, pyarrow.RecordBatchReader.from_stream(stream))

    return _spread(spark, portions).mapInArrow(read, RECORDS)


def read_rows(spark, paths, style, *, per="session", portion_bytes=PORTION_BYTES):
    """Return a DataFrame of the rows for training of all sessions in files and folders, with the
    columns `ROWS`. A session that cannot be read is one row with an `error`. `style` and `per` are
    those of `copyist.read_rows`."""
    portions = _portions_of(paths, portion_bytes)
    names = [column.split()[0] for column in ROWS.split(",")]

    def read(batches):
        import pyarrow

        schema = pyarrow.schema([(name, pyarrow.string()) for name in names])
        for _, portion in _rows(batches):
            rows = _copyist.rows_of_portion(portion, style, per)
            while some := [dict(zip(names, row)) for row in itertools.islice(rows, 256)]:
                yield from pyarrow.Table.from_pylist(some, schema).to_batches()

    return _spread(spark, portions).mapInArrow(read, ROWS)


def _portions_of(paths, portion_bytes):
    """Portions of the sessions in files and folders. A path that cannot be read is an exception."""
    portions, _, _, reports, _ = _copyist.plan(
        _request("detect"), paths, [], portion_bytes, PORTION_SESSIONS
    )
    for report in reports:
        if report["outcome"] == "failed":
            raise OSError(f"{_shown(report['path'])}: {report['diagnostics'][-1]['message']}")
    return portions


def _signed(records):
    """The batch with the only integers that Spark has."""
    import pyarrow

    signed = [
        column.cast("int64") if column.type == pyarrow.uint64() else column
        for column in records.columns
    ]
    return pyarrow.RecordBatch.from_arrays(signed, names=records.schema.names)


def convert_sessions(
    spark, paths, out_dir, to, *, origin=True, portion_bytes=PORTION_BYTES, depth=1
):
    """Convert sessions to a format below `out_dir`, and return a DataFrame with a row for each input
    (`REPORT`)."""
    request = _request("convert", out_dir, to=to, origin=origin)
    return _run(spark, request, paths, portion_bytes, depth)


def migrate_sessions(spark, paths, out_dir, *, portion_bytes=PORTION_BYTES, depth=1):
    """Migrate sessions to the newest versions of their formats below `out_dir`, and return a DataFrame
    with a row for each input (`REPORT`)."""
    return _run(spark, _request("migrate", out_dir), paths, portion_bytes, depth)


def repair_sessions(
    spark, paths, out_dir, *, resumable=False, portion_bytes=PORTION_BYTES, depth=1
):
    """Repair sessions below `out_dir`, and return a DataFrame with a row for each input (`REPORT`).
    With `resumable`, also repair what the interface of a model refuses."""
    request = _request("repair", out_dir, resumable=resumable)
    return _run(spark, request, paths, portion_bytes, depth)


def _request(command, out_dir=None, to=None, origin=True, resumable=False):
    """Describe work to the processes that do it."""
    if out_dir is not None and not objects.is_uri(out_dir):
        out_dir = os.path.abspath(os.fspath(out_dir))
    return {
        "command": command, "to": to, "origin": origin, "resumable": resumable, "out_dir": out_dir
    }


def _spread(spark, portions):
    """Return a DataFrame with a partition for each portion."""
    rows = [(number, zlib.compress(portion, 1)) for number, portion in enumerate(portions)]
    spread = spark.sparkContext.parallelize(rows, max(1, len(rows)))
    return spark.createDataFrame(spread, "number int, portion binary")


def _rows(batches):
    """The numbers and portions in batches of rows."""
    for batch in batches:
        for number, portion in zip(*(column.to_pylist() for column in batch.columns)):
            yield number, zlib.decompress(portion)


def _run(spark, request, paths, portion_bytes, depth):
    """Do what earlier runs left to do, and return the table on all runs."""
    stores = [objects.is_uri(paths), objects.is_uri(request["out_dir"])]
    if any(stores) and not all(stores):
        raise ValueError("inputs and outputs must both be in object stores, or both in file systems")
    if all(stores):
        return _run_objects(spark, request, paths, portion_bytes, depth)
    _check_apart(paths, request["out_dir"])
    folder = os.path.join(request["out_dir"], FOLDER)
    portions, _, header, reports, _ = _copyist.plan(
        request, paths, list(_journals(folder)), portion_bytes, PORTION_SESSIONS
    )
    run = _new_run(folder)
    _save_rows(os.path.join(folder, str(run), "plan.report.jsonl"), run, reports)

    def work(batches):
        import pyarrow
        from pyspark import TaskContext

        attempt = TaskContext.get().attemptNumber()
        for number, portion in _rows(batches):
            place = os.path.join(folder, str(run), f"{number:06}")
            _work(request, portion, place, run, header, attempt)
            yield pyarrow.RecordBatch.from_pydict({"number": pyarrow.array([number], "int32")})

    if portions:
        _spread(spark, portions).mapInArrow(work, "number int").collect()
    return _table(spark, folder, run)


def _check_apart(paths, out_dir):
    """Outputs must not get the places of inputs, of which a worker knows its own portion only."""
    out = os.path.realpath(out_dir)
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        path = os.path.realpath(path)
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        if os.path.commonpath([out, folder]) == out:
            raise ValueError(f"{path} is in the output folder {out_dir}")


def _journals(folder):
    """The journals of earlier runs in their order, each with whether its portion was done."""
    runs = sorted((int(name) for name in _names(folder) if name.isdigit()))
    for run in map(str, runs):
        names = set(_names(os.path.join(folder, run)))
        for name in sorted(names):
            if name.endswith(".journal.jsonl"):
                done = name.replace(".journal.", ".report.") in names
                yield os.path.join(folder, run, name), done


def _names(folder):
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _new_run(folder):
    """Make the folder of a run, whose name is the next number."""
    os.makedirs(folder, exist_ok=True)
    run = max((int(name) for name in _names(folder) if name.isdigit()), default=0)
    while True:
        run += 1
        try:
            os.mkdir(os.path.join(folder, str(run)))
            return run
        except FileExistsError:
            pass


def _work(request, portion, place, run, header, attempt):
    """Do a portion. The first attempt does it as a whole. If that killed the process, the next ones
    work on one session at a time, and leave out those that killed it again."""
    sizes = [share["bytes"] for share in json.loads(portion)]
    journal = place + ".journal.jsonl"
    if attempt == 0:
        reports = _copyist.run_portion(request, portion, journal, header)
    else:
        reports = _one_by_one(request, portion, place + ".attempt.json", journal, header)
    _save_rows(place + ".report.jsonl", run, reports, sizes)


def _one_by_one(request, portion, note, journal, header):
    """Do each session by itself. The file `note` names the one that is in work."""
    suspects = []
    if os.path.exists(note):
        with open(note, encoding="utf-8") as file:
            suspects = json.load(file)
    reports = []
    for number, share in enumerate(json.loads(portion)):
        if number in suspects:
            why = "the process that worked on it was killed; start the run again to try once more"
            reports.append(_failed(share, why))
            continue
        _save(note, json.dumps(suspects + [number]))
        try:
            one = json.dumps([share]).encode()
            reports += _copyist.run_portion(request, one, journal, header)
        except BaseException as error:
            # A fault of copyist in one session is none of the others'.
            if type(error).__name__ != "PanicException":
                raise
            reports.append(_failed(share, f"copyist has a fault: {error}"))
    _save(note, json.dumps(suspects))
    return reports


def _failed(share, why):
    finding = {"severity": "error", "message": why}
    return {"path": share["files"][0][1], "outcome": "failed", "diagnostics": [finding]}


def _save_rows(path, run, reports, sizes=None):
    """Save rows of the table on a run."""
    sizes = sizes or [0] * len(reports)
    rows = (_row(report, size, run) for report, size in zip(reports, sizes))
    _save(path, "".join(json.dumps(row) + "\n" for row in rows))


def _row(report, size, run):
    """A row of the table on a run."""
    return {
        "path": _shown(report["path"]),
        "outcome": report["outcome"],
        "output": _shown(report.get("output")),
        "bytes": size,
        "run": run,
        "report": json.dumps(report),
    }


def _shown(path):
    """A path as text; reports hold the bytes of one that is not valid UTF-8."""
    return bytes(path).decode("utf-8", "replace") if isinstance(path, list) else path


def _save(path, text):
    """Write a file that appears whole."""
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _table(spark, folder, run):
    """The newest row on each input. Reports of all runs are in the folder."""
    from pyspark.sql import Window, functions

    # The characters of patterns mean themselves.
    place = "".join("\\" + c if c in "*?[]{}\\" else c for c in folder)
    reader = spark.read.schema(REPORT).option("recursiveFileLookup", "true")
    table = reader.option("pathGlobFilter", "*.report.jsonl").json("file://" + place)
    if run == 1:
        return table
    newest = functions.max("run").over(Window.partitionBy("path"))
    return table.withColumn("newest", newest).where("run = newest").drop("newest")


def _read_objects(spark, source, portion_bytes, depth):
    def read(batches):
        for _, portion in _rows(batches):
            for _, inputs in json.loads(portion):
                yield from map(_signed, objects.read(source, inputs))

    units = objects.units(source, depth)
    return _spread(spark, _portions(units, portion_bytes)).mapInArrow(read, RECORDS)


def _run_objects(spark, request, source, portion_bytes, depth):
    """Do what manifests do not name as done, and return the table on all inputs."""
    out = request["out_dir"]
    if (objects.plain(source) + "/").startswith(objects.plain(out) + "/"):
        raise ValueError(f"{source} is in the output folder {out}")

    def work(batches):
        import pyarrow

        for _, portion in _rows(batches):
            for folder, inputs in json.loads(portion):
                reports = objects.work(request, source, out, folder, inputs)
                if reports:
                    sizes = {f"{objects.plain(source)}/{path}": size for path, size, _ in inputs}
                    rows = [_row(one, sizes.get(_shown(one["path"]), 0), 1) for one in reports]
                    table = pyarrow.Table.from_pylist(rows, _report_schema())
                    yield from table.to_batches()

    units = objects.units(source, depth, out)
    table = _spread(spark, _portions(units, portion_bytes)).mapInArrow(work, REPORT).cache()
    table.count()
    return table


def _report_schema():
    import pyarrow

    kinds = {"string": pyarrow.string(), "long": pyarrow.int64(), "int": pyarrow.int32()}
    return pyarrow.schema([(name, kinds[kind]) for name, kind in map(str.split, REPORT.split(","))])


def _portions(units, size):
    """Units of an object store together, up to about `size` bytes, as what is sent to a worker."""
    portions, room = [], 0
    for folder, length, inputs in units:
        if not portions or length > room:
            portions.append([])
            room = size
        portions[-1].append([folder, inputs])
        room -= length
    return [json.dumps(portion).encode() for portion in portions]
