#!/usr/bin/env python3
"""Measures copyist beside other converters of sessions, and prints the table of the README.

usage: converters.py COPYIST [FOLDER]

COPYIST is a release build. FOLDER has the other programs (`pip install session-migrate panagent
harness-convert`); without it they are looked for in PATH, and those that are not installed are left
out. The work is
that of a user who continues a session of Claude Code in Codex and comes back: one transcript of
10 MB (`gen_claude_code.py`), and those of `testdata/`. Times are processor seconds, the least of
three runs; memory is the highest of them."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
ROUNDS = 3

# Arguments to convert a file to Codex and back, beside the number of formats that the program's own
# help names. A program without `{in}` reads and writes the home folders of the agents.
OTHERS = {
    "session-migrate": (
        "18 / 18",
        ["convert", "--to", "codex", "--output", "{out}", "{in}"],
        ["convert", "--to", "claude", "--output", "{out}", "{in}"],
    ),
    "panagent": (
        "6 / 2",
        ["convert", "--quiet", "--to", "codex", "-o", "{out}", "{in}"],
        ["convert", "--quiet", "--to", "claude-code", "-o", "{out}", "{in}"],
    ),
    "hc": (
        "5 / 4",
        ["convert", "{id}", "--from", "claude", "--to", "codex", "--write", "--no-interactive"],
        ["convert", "{id}", "--from", "codex", "--to", "claude", "--write", "--no-interactive"],
    ),
}
NAMES = {"hc": "harness-convert"}
ID = re.compile(r'"(?:sessionId|id)": ?"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"')
HOMES = {
    "claude": ".claude/projects/{folder}/{id}.jsonl",
    "codex": ".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-{id}.jsonl",
}


def at_home(program, words, source, target):
    """Runs a command that works in home folders; returns what `run` does."""
    agent, other = words[words.index("--from") + 1], words[words.index("--to") + 1]
    session = ID.search(source.read_text())[1]
    # The same path each time, because sessions name it.
    home = pathlib.Path(tempfile.gettempdir(), f"converters-{os.getpid()}")
    place = HOMES[agent].replace("{id}", session)
    place = home / place.replace("{folder}", re.sub("[^A-Za-z0-9]", "-", str(home)))
    place.parent.mkdir(parents=True)
    shutil.copy(source, place)
    words = [word.replace("{id}", session) for word in words]
    with open(os.devnull, "w") as nothing:
        child = subprocess.Popen([program, *words], cwd=home, env={**os.environ, "HOME": str(home)},
                                 stdin=nothing, stdout=nothing, stderr=nothing)
        _, status, used = os.wait4(child.pid, 0)
    written = sorted((home / f".{other}").glob("*/**/*.jsonl"))
    if written and not status:
        shutil.copy(written[0], target)
    shutil.rmtree(home)
    if status or not written:
        return None
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def run(program, words, source, target):
    """Runs a command; returns its processor seconds and MiB, or None if it fails."""
    if "{in}" not in words:
        return at_home(program, words, source, target)
    words = [word.replace("{in}", str(source)).replace("{out}", str(target)) for word in words]
    with open(os.devnull, "w") as nothing:
        child = subprocess.Popen([program, *words], stdout=nothing, stderr=nothing)
        _, status, used = os.wait4(child.pid, 0)
    done = status == 0 and target.is_file()
    return (used.ru_utime + used.ru_stime, used.ru_maxrss / 1024) if done else None


def least(program, words, source, folder):
    """Returns the least time and the highest memory of some runs."""
    if not source.is_file():
        return "–"
    runs = [run(program, words, source, folder / f"{i}.jsonl") for i in range(ROUNDS)]
    if None in runs:
        return "refuses"
    return f"{min(time for time, _ in runs):.2f} s, {max(mib for _, mib in runs):.0f} MiB"


def same(program, there, back, sources):
    """Counts sessions that come back as the same bytes."""
    count = 0
    for source in sources:
        with tempfile.TemporaryDirectory() as folder:
            other, again = pathlib.Path(folder, "other.jsonl"), pathlib.Path(folder, "again.jsonl")
            steps = run(program, there, source, other) and run(program, back, other, again)
            count += bool(steps) and again.read_bytes() == source.read_bytes()
    return f"{count} of {len(sources)}"


def installed(program, name):
    """Returns the version of a package of Python beside whose interpreter a program is."""
    ask = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    python = pathlib.Path(program).with_name("python3")
    return subprocess.run([python, "-c", ask, name], capture_output=True, text=True).stdout.strip()


def main():
    copyist = sys.argv[1]
    path = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder:
        large = pathlib.Path(folder, "large.jsonl")
        subprocess.run([sys.executable, HERE / "gen_claude_code.py", large, "10"], check=True)
        own = sorted((HERE.parent / "testdata/claude-code").glob("v*/*/in/*.jsonl"))
        own = [file for file in own if not file.with_suffix("").is_dir()]
        print("| program | reads / writes | there | and back | same bytes |\n|---|---|---|---|---|")
        rows = {"copyist": (None, ["convert", "-t", "codex", "-o", "{out}", "{in}"],
                            ["convert", "-t", "claude-code", "-o", "{out}", "{in}"])}
        for name, (formats, there, back) in {**rows, **OTHERS}.items():
            program = copyist if name == "copyist" else shutil.which(name, path=path)
            if program is None:
                print(f"{name}: not installed", file=sys.stderr)
                continue
            if formats is None:
                listed = subprocess.run([copyist, "formats", "--json"], capture_output=True, text=True)
                number = len({line.split('"format":')[1].split(",")[0] for line in listed.stdout.splitlines()})
                formats = f"{number} / {number}"
            version = subprocess.run([program, "--version"], capture_output=True, text=True)
            name = NAMES.get(name, name)
            version = (version.stdout.split() or [installed(program, name)])[-1]
            work = pathlib.Path(folder, name)
            (work / "there").mkdir(parents=True)
            (work / "back").mkdir()
            first = least(program, there, large, work / "there")
            second = least(program, back, work / "there/0.jsonl", work / "back")
            print(f"| {name} {version} | {formats} | {first} | {second} |"
                  f" {same(program, there, back, [*own, large])} |", flush=True)


main()
