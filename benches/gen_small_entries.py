#!/usr/bin/env python3
"""Writes a session of pi with so many small entries, always the same: what a session costs by the
entry, not by the byte.

usage: gen_small_entries.py FILE COUNT [VERSION]

Seven questions and an answer follow each other. From version 2 on each is the child of the one
before; an identifier is the number of its entry times an odd constant, so that none comes twice and
they are as spread as random ones."""
import sys


def main():
    path, count, version = sys.argv[1], int(sys.argv[2]), int((sys.argv[3:] or ["3"])[0])
    times = ["%02d:%02d:%02d.000Z" % (s // 3600, s // 60 % 60, s % 60) for s in range(86400)]
    usage = '"usage":{"input":1,"output":1,"cacheRead":0,"cacheWrite":0,"totalTokens":2,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}'
    answer = '"role":"assistant","content":[{"type":"text","text":"%d"}],"api":"a","provider":"p","model":"m",' + usage + ',"stopReason":"stop","timestamp":1767225600000'
    question = '"role":"user","content":"%d","timestamp":1767225600000'
    number = ',"version":%d' % version if version > 1 else ""
    parent, lines = "null", []
    with open(path, "w", encoding="ascii") as out:
        out.write('{"type":"session"%s,"id":"00000000-0000-4000-8000-000000000000","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"%s}\n'
                  % (number, "" if version > 1 else ',"provider":"p","modelId":"m","thinkingLevel":"off"'))
        for n in range(count):
            link = ""
            if version > 1:
                own = '"%08x"' % ((n + 1) * 2654435761 & 0xFFFFFFFF)
                link = '"id":%s,"parentId":%s,' % (own, parent)
                parent = own
            time = "2026-01-%02dT%s" % (n // 86400 % 28 + 1, times[n % 86400])
            message = (answer if n % 8 == 7 else question) % n
            lines.append('{"type":"message",%s"timestamp":"%s","message":{%s}}\n' % (link, time, message))
            if len(lines) == 100000:
                out.write("".join(lines))
                lines.clear()
        out.write("".join(lines))


main()
