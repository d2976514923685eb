"""Sessions as rows for training."""

import json
import os
import warnings

from . import _copyist


def export(paths, style, *, out_dir=None, output=None, **options):
    """Write the sessions in files and folders as rows for training, as `copyist export` does: below
    a folder with a card, or into one file. `options` are those of the command, with `_` for `-`:
    `split="train=0.9,test=0.1"`, `dedup=True`, `tool_results=2000`. Return the card of a folder.

    >>> import copyist
    >>> s = copyist.create("pi", "/work", "talks")
    >>> hello = s.append_message({"role": "user", "content": "Hello"})
    >>> answer = s.append_message({"role": "assistant", "content": "Hello!"})
    >>> copyist.export("talks", "openai", out_dir="rows")["rows"]
    {'train': 1}
    """
    arguments = ["export", "--quiet", "--as", style]
    for name, place in (("--out-dir", out_dir), ("--output", output)):
        if place is not None:
            arguments += [name, os.fspath(place)]
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            arguments.append(option)
        elif value is not None and value is not False:
            arguments.append(f"{option}={value}")
    code = _copyist.run(arguments + ["--"] + _paths(paths))
    if code == 2:
        raise ValueError("the command does not take these arguments; it said why on standard error")
    if code not in (0, 3):
        raise RuntimeError(f"the export ended with exit code {code}")
    card = os.path.join(out_dir, "card.json") if out_dir is not None else None
    if card is None or not os.path.exists(card):
        return None
    with open(card, encoding="utf-8") as file:
        return json.load(file)


def read_rows(paths, style, *, per="session"):
    """Read the sessions in files and folders as rows for training, one by one: a dictionary for each
    session, or for each `branch` or `turn`. A session that cannot be read has no row, which is a
    warning.

    >>> import copyist
    >>> s = copyist.create("pi", "/work", "talks")
    >>> hello = s.append_message({"role": "user", "content": "Hello"})
    >>> answer = s.append_message({"role": "assistant", "content": "Hello!"})
    >>> [row["messages"][0]["content"] for row in copyist.read_rows("talks", "trl")]
    ['Hello']

    `datasets.Dataset.from_generator` takes it:
    `from_generator(copyist.read_rows, gen_kwargs={"paths": "talks", "style": "trl"})`.
    """
    for path, row, why in _copyist.rows(_paths(paths), style, per):
        if row is None:
            warnings.warn(f"{path}: {why}", stacklevel=2)
        else:
            yield json.loads(row)


def _paths(paths):
    """Paths of one path, or of any iterable of them."""
    if isinstance(paths, (str, os.PathLike)):
        return [os.fspath(paths)]
    return [os.fspath(path) for path in paths]
