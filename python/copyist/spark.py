"""Sessions on a Spark cluster, with the same core on every worker.

>>> from copyist import spark as cs                              # doctest: +SKIP
>>> records = cs.read_sessions(spark, "/data/sessions")          # doctest: +SKIP
>>> report = cs.migrate_sessions(spark, "/data/sessions", "/data/new")  # doctest: +SKIP

Every worker must reach the files under the same paths (a shared or mounted file system), and must
have this package.
"""

import hashlib
import json
import os
import stat

import copyist

RECORDS = (
    "path string, format string, line long, kind string, id string, parent string, time string, "
    "role string, text string, provider string, model string, input_tokens long, "
    "output_tokens long, synthesized boolean, record string, error string"
)
REPORT = "path string, outcome string, output string, bytes long, report string"

# So many bytes of input make a task: some seconds of work, so that a lost worker costs little.
TASK_BYTES = 64 << 20


def manifest(paths):
    """The files below folders, and files that are named, with their sizes: `[(path, size)]`.

    Links are not followed, as by the command. Temporary files of runs that were killed, origins,
    backups and quarantines are left out.
    """
    own = (".origin", ".bak", ".quarantine.jsonl", ".tmp")
    found = {}
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        path = os.fspath(path)
        if not os.path.isdir(path):
            found[path] = os.stat(path).st_size
            continue
        for folder, folders, files in os.walk(path):
            folders.sort()
            for name in sorted(files):
                file = os.path.join(folder, name)
                state = os.lstat(file)
                if stat.S_ISREG(state.st_mode) and not name.endswith(own):
                    found[file] = state.st_size
    return sorted(found.items())


def units(files):
    """What is worked on together: files of one folder whose names agree up to the first point, such
    as the two files of a pair. Their outputs could have one name, so one task gives them theirs.
    `[([path, …], size)]`."""
    together = {}
    for path, size in files:
        folder, name = os.path.split(path)
        unit = together.setdefault((folder, name.split(".")[0]), ([], []))
        unit[0].append(path)
        unit[1].append(size)
    return [(paths, sum(sizes)) for paths, sizes in together.values()]


def tasks(units, size=TASK_BYTES, most=4096):
    """Groups of units of about `size` bytes: the large ones alone and first, then small ones together,
    so that no worker waits for one huge task at the end."""
    groups, group, room = [], [], size
    for paths, length in sorted(units, key=lambda unit: (-unit[1], unit[0])):
        if group and (length > room or len(group) == most):
            groups.append(group)
            group, room = [], size
        group.append(paths)
        room -= length
    return groups + [group] if group else groups


def _spread(spark, files):
    """One row a task, one partition a row."""
    rows = [(number, json.dumps(group)) for number, group in enumerate(tasks(units(files)))]
    frame = spark.createDataFrame(rows, "number int, units string")
    return frame.repartitionByRange(max(1, len(rows)), "number").select("units")


def read_sessions(spark, paths):
    """A DataFrame of the records of all sessions; see `RECORDS` for its columns. A file that cannot
    be read is one row with an `error`."""

    def read(batches):
        import pyarrow

        for batch in batches:
            for group in batch.column(0).to_pylist():
                paths = [path for unit in json.loads(group) for path in unit]
                stream = copyist.read_arrow(paths)
                reader = pyarrow.RecordBatchReader.from_stream(stream)
                for records in reader:
                    columns = [
                        column.cast("int64") if column.type == pyarrow.uint64() else column
                        for column in records.columns
                    ]
                    yield pyarrow.RecordBatch.from_arrays(columns, names=records.schema.names)

    return _spread(spark, manifest(paths)).mapInArrow(read, RECORDS)


def convert_sessions(spark, paths, out_dir, to, origin=True):
    """Convert sessions below `out_dir`, and return a DataFrame of reports (`REPORT`)."""
    return _work(spark, paths, out_dir, "convert", {"to": to, "origin": origin})


def migrate_sessions(spark, paths, out_dir):
    """Migrate sessions below `out_dir`, and return a DataFrame of reports (`REPORT`)."""
    return _work(spark, paths, out_dir, "migrate", {})


def repair_sessions(spark, paths, out_dir, resumable=False):
    """Repair sessions below `out_dir`, and return a DataFrame of reports (`REPORT`)."""
    return _work(spark, paths, out_dir, "repair", {"resumable": resumable})


def _work(spark, paths, out_dir, name, options):
    """Each unit of files is worked on by one task, and its outputs appear whole or not at all. A task
    that is done again finds what it did the first time and leaves it: the outcome is `done`."""
    files = manifest(paths)
    named = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    roots = [os.path.abspath(root) for root in named if os.path.isdir(root)]
    out_dir = os.path.abspath(os.fspath(out_dir))

    def place(path):
        folder = os.path.dirname(os.path.abspath(path))
        for root in roots:
            if folder == root or folder.startswith(root + os.sep):
                return os.path.normpath(os.path.join(out_dir, os.path.relpath(folder, root)))
        return out_dir

    def work_on(frames):
        import pandas

        for frame in frames:
            rows = []
            for group in frame["units"]:
                for unit in json.loads(group):
                    mark = _mark(out_dir, name, unit[0])
                    rows += _unit(unit, place(unit[0]), mark, name, options)
            yield pandas.DataFrame(rows, columns=["path", "outcome", "output", "bytes", "report"])

    return _spread(spark, files).mapInPandas(work_on, REPORT)


def _mark(out_dir, name, path):
    """The file that says that the work on a unit is done."""
    print_ = hashlib.sha256(f"{name}:{path}".encode("utf-8", "surrogateescape")).hexdigest()
    return os.path.join(out_dir, "_copyist", print_[:2], print_[2:4], print_[4:32] + ".json")


def _unit(unit, folder, mark, name, options):
    """Does the work on one unit, unless it is done; returns rows of the report."""
    states = [os.stat(path) for path in unit]
    state = [[name, options]] + [[s.st_size, s.st_mtime_ns] for s in states]
    size = sum(s.st_size for s in states)
    try:
        with open(mark, encoding="utf-8") as file:
            before = json.load(file)
        if before["state"] == state and all(os.path.exists(o) for o in before["outputs"]):
            return [(unit[0], "done", o, size, None) for o in before["outputs"]]
    except (OSError, ValueError, KeyError):
        pass
    try:
        # What an earlier attempt of this task wrote is whole, and is replaced by the same.
        work = getattr(copyist, name)
        reports = work(unit, out_dir=folder, force=True, threads=1, **options)
    except copyist.CopyistError as error:
        report = {"error": str(error), "code": error.code}
        return [(unit[0], "failed", None, size, json.dumps(report))]
    outputs = [report["output"] for report in reports if report.get("output")]
    if outputs and all(report["outcome"] != "failed" for report in reports):
        os.makedirs(os.path.dirname(mark), exist_ok=True)
        _save(mark, json.dumps({"state": state, "outputs": outputs}))
    sizes = dict(zip(unit, (s.st_size for s in states)))
    return [
        (r["path"], r["outcome"], r.get("output"), sizes.get(r["path"], 0), json.dumps(r))
        for r in reports
    ]


def _save(path, text):
    """A file that appears whole."""
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
