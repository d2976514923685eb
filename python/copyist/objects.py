"""Sessions in object stores, for `copyist.spark`.

Object stores have no rename, so an output counts by manifest: a unit of work first names the objects
that it will write, then writes them, and then marks its manifest as done. A worker that finds a done
manifest for the same inputs does nothing; one that finds a manifest that is not done writes the
objects that are named in it again. An object that no manifest names is never replaced.

A unit is the objects below one folder at `depth` below the root, and is worked on in a temporary
folder of the worker. Files of one session must be in one unit. Stores are those of `pyarrow.fs`:
`s3://`, `gs://`, `abfss://`.
"""

import hashlib
import json
import os
import tempfile

from . import _copyist

FOLDER = "copyist-run"
"""The folder below the root of the outputs for manifests."""


def is_uri(path):
    """Whether a path is the URI of an object store."""
    return isinstance(path, str) and "://" in path


def plain(uri):
    """A URI without options and secrets, as it is reported."""
    scheme, rest = uri.split("://", 1)
    rest = rest.split("?", 1)[0].rstrip("/")
    bucket, slash, path = rest.partition("/")
    return f"{scheme}://{bucket.rpartition('@')[2]}{slash}{path}"


def committed(out):
    """The paths below `out` of all outputs that count.

    >>> for path in committed("s3://bucket/new"):        # doctest: +SKIP
    ...     print(path)
    """
    store, root = _opened(out)
    for info in _files(store, f"{root}/{FOLDER}"):
        manifest = json.loads(_read(store, info.path))
        if manifest["done"]:
            yield from (path for path, _ in manifest["outputs"])


def units(source, depth, out=None):
    """The units of work below a root: `[(folder, bytes, [[path, size, time], …])]`, large ones first."""
    store, root = _opened(source)
    without = out and _opened(out)[1] + "/"
    found = {}
    for info in _files(store, root):
        if without and info.path.startswith(without):
            continue
        path = info.path[len(root) + 1:]
        folder = "/".join(path.split("/")[:-1][:depth])
        found.setdefault(folder, []).append([path, info.size, info.mtime_ns])
    sized = [(folder, sum(o[1] for o in objects), sorted(objects)) for folder, objects in found.items()]
    return sorted(sized, key=lambda unit: (-unit[1], unit[0]))


def read(source, objects):
    """Batches of the records in the sessions of a unit."""
    import pyarrow
    import pyarrow.compute

    with tempfile.TemporaryDirectory() as folder:
        inside = _fetch(source, objects, folder)
        for batch in pyarrow.RecordBatchReader.from_stream(_copyist.read_arrow(inside)):
            paths = pyarrow.compute.replace_substring(batch.column(0), inside, plain(source))
            yield batch.set_column(0, "path", paths)


def work(request, source, out, unit, objects):
    """Do the work on a unit, unless it is done. Returns the reports on its inputs."""
    store, root = _opened(out)
    name = hashlib.sha256(unit.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    place = f"{root}/{FOLDER}/{name}.json"
    kind = store.get_file_info(place).type.name
    before = json.loads(_read(store, place)) if kind == "File" else None
    # Not the folder of outputs: its URI may hold a secret.
    settings = {name: value for name, value in request.items() if name != "out_dir"}
    manifest = {"settings": settings, "unit": unit, "inputs": objects}
    if before and before["settings"] != settings:
        raise ValueError(f"{plain(out)} has outputs of other work: {before['settings']}")
    if before and before["done"] and before["inputs"] == objects:
        return before["reports"]
    own = {path for path, _ in before["outputs"]} if before else set()
    with tempfile.TemporaryDirectory() as temporary:
        inside, made = _fetch(source, objects, temporary), os.path.join(temporary, "out")
        options = {"to": request["to"], "origin": request["origin"]} if request["command"] == "convert" else {}
        if request["command"] == "repair":
            options["resumable"] = request["resumable"]
        reports = getattr(_copyist, request["command"])(inside, out_dir=made, threads=1, **options)
        text = json.dumps(reports)
        for folder, uri in ((inside, source), (made, out)):
            text = text.replace(json.dumps(folder)[1:-1], json.dumps(plain(uri))[1:-1])
        reports = json.loads(text)
        outputs = [(os.path.relpath(path, made).replace(os.sep, "/"), path) for path in _walk(made)]
        free = _free(store, root, [path for path, _ in outputs if path not in own]) | own
        for report in reports:
            written = [p[len(plain(out)) + 1:] for p in report.get("outputs") or [report.get("output")] if p]
            if any(path not in free for path in written):
                why = "the output exists, and is of someone else"
                report["outcome"], report["output"] = "failed", None
                report["diagnostics"].append({"severity": "error", "message": why})
        outputs = [(path, local) for path, local in outputs if path in free]
        # What an earlier run wrote stays ours, also where this one does not write it again.
        sizes = {path: None for path in own} | {path: os.path.getsize(local) for path, local in outputs}
        manifest |= {"outputs": sorted(sizes.items()), "reports": reports}
        _write(store, place, json.dumps(manifest | {"done": False}).encode())
        for path, local in outputs:
            _send(store, f"{root}/{path}", local)
        _write(store, place, json.dumps(manifest | {"done": True}).encode())
    return reports


def _opened(uri):
    """The store of a URI, and the path in it."""
    from pyarrow import fs

    store, path = fs.FileSystem.from_uri(uri)
    return store, path.rstrip("/")


def _files(store, root):
    from pyarrow import fs

    selector = fs.FileSelector(root, recursive=True, allow_not_found=True)
    return [info for info in store.get_file_info(selector) if info.is_file]


def _free(store, root, paths):
    """Those of the paths below the root where no object is."""
    found = store.get_file_info([f"{root}/{path}" for path in paths]) if paths else []
    return {path for path, info in zip(paths, found) if info.type.name == "NotFound"}


def _read(store, path):
    with store.open_input_stream(path) as stream:
        return stream.read()


def _write(store, path, data):
    with store.open_output_stream(path) as stream:
        stream.write(data)


def _send(store, path, local):
    """Write an object, which appears when its last byte is there."""
    with open(local, "rb") as file, store.open_output_stream(path) as stream:
        while block := file.read(1 << 20):
            stream.write(block)


def _fetch(source, objects, folder):
    """Copy the objects of a unit below a folder, with their times. Returns the folder of the root,
    whose name may be that of an agent."""
    store, root = _opened(source)
    inside = os.path.join(folder, "in", os.path.basename(root) or "root")
    os.makedirs(inside)
    for path, _, time in objects:
        local = os.path.normpath(os.path.join(inside, path))
        if not local.startswith(inside + os.sep):
            raise ValueError(f"{path} leads out of its root")
        os.makedirs(os.path.dirname(local), exist_ok=True)
        with store.open_input_stream(f"{root}/{path}") as stream, open(local, "wb") as file:
            while block := stream.read(1 << 20):
                file.write(block)
        if time:
            os.utime(local, ns=(time, time))
    return inside


def _walk(folder):
    return sorted(os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
