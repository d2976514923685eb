#!/usr/bin/env python3
"""Writes a transcript of Claude Code of about so many megabytes, always the same for a seed.

usage: gen_claude_code.py FILE MEGABYTES [SEED]

The lines are those of release 2.1: an answer of text, thinking and calls has a line a block, results
of parallel calls are children of their calls, and lines beside the chain stand between."""
import json
import random
import sys

WORDS = "tide table harbour lamp north south buoy chart depth wind gauge pilot fn let match self return Result".split()


def main():
    path, size, seed = sys.argv[1], int(float(sys.argv[2]) * 1e6), int((sys.argv[3:] or ["1"])[0])
    rng = random.Random(seed)
    session = "%08x-0000-4000-8000-%012x" % (rng.getrandbits(32), rng.getrandbits(48))
    clock, count, parent, written = 1767225600000, 0, None, 0
    with open(path, "w", encoding="utf-8") as out:

        def emit(value):
            nonlocal written
            line = json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
            written += len(line.encode())
            out.write(line)

        def line(kind, message, after, **more):
            nonlocal clock, count
            clock, count = clock + rng.randrange(1, 4000), count + 1
            uuid = "%08x-0000-4000-8000-%012x" % (count, rng.getrandbits(48))
            second, milli = divmod(clock, 1000)
            day, rest = divmod(second, 86400)
            time = "2026-%02d-%02dT%02d:%02d:%02d.%03dZ" % (day // 28 % 12 + 1, day % 28 + 1, rest // 3600, rest // 60 % 60, rest % 60, milli)
            emit({"parentUuid": after, "isSidechain": False, "userType": "external", "cwd": "/home/user/hafen", "sessionId": session,
                  "version": "2.1.81", "gitBranch": "main", "type": kind, "message": message, "uuid": uuid, "timestamp": time, **more})
            return uuid

        def prose(length):
            return " ".join(rng.choice(WORDS) for _ in range(max(1, length // 6)))

        def answer(block, name, after):
            usage = {"input_tokens": rng.randrange(9000), "cache_creation_input_tokens": 0, "cache_read_input_tokens": rng.randrange(90000), "output_tokens": rng.randrange(900)}
            message = {"model": "claude-sonnet-4-5", "id": name, "type": "message", "role": "assistant", "content": [block], "stop_reason": None, "stop_sequence": None, "usage": usage}
            return line("assistant", message, after, requestId="req_" + name[4:])

        while written < size:
            parent = line("user", {"role": "user", "content": prose(rng.randrange(20, 400))}, parent, promptId="p%d" % count)
            for _ in range(rng.randrange(1, 7)):
                name = "msg_%016x" % rng.getrandbits(64)
                parent = answer({"type": "thinking", "thinking": prose(300), "signature": "%0128x" % rng.getrandbits(512)}, name, parent)
                calls = []
                for _ in range(rng.choice([1, 1, 1, 2, 3])):
                    call = "toolu_%020x" % rng.getrandbits(80)
                    parent = answer({"type": "tool_use", "id": call, "name": "Bash", "input": {"command": prose(60), "description": prose(20)}}, name, parent)
                    calls.append((call, parent))
                for call, own in calls:
                    text = "\n".join(prose(70) for _ in range(rng.randrange(1, 60)))
                    result = {"tool_use_id": call, "type": "tool_result", "content": text, "is_error": False}
                    parent = line("user", {"role": "user", "content": [result]}, own, toolUseResult={"stdout": text, "stderr": "", "interrupted": False}, sourceToolAssistantUUID=own)
            parent = answer({"type": "text", "text": prose(rng.randrange(50, 900))}, "msg_%016x" % rng.getrandbits(64), parent)
            emit({"type": "last-prompt", "lastPrompt": "on", "sessionId": session})


main()
