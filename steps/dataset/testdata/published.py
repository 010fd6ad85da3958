"""Counts a trace by itself: python3 published.py FILE BLOCK. What it prints, TestPublished has to find.

A cache that keeps everything misses each block of BLOCK tokens once, after what comes before it, in whatever order."""

import csv
import json
import sys


def prompts(path):
    """Of each call the scope of its names, the tokens of its prompt and its answer, and the names of its blocks."""
    said = {}  # of aiperf's sessions, token by token
    with open(path) as f:
        for n, text in enumerate(f):
            if text[0] != "{":
                row = next(csv.reader([text]))
                if n and int(row[2]):
                    yield n, int(row[1]), int(row[2]), []
                continue
            line = json.loads(text)
            if "requests" in line:
                for e in line["requests"]:
                    for call in e.get("requests", [e]):
                        if call["out"]:
                            yield n, call["in"], call["out"], call["hash_ids"]
                continue
            tokens, answer, names, session = line["input_length"], line["output_length"], line["hash_ids"], line.get("session_id")
            if session:
                names = said.get(session, []) + [(names[k // 512], k % 512) for k in range(tokens)]
                tokens = len(names)
                said[session] = names + [(session, n, k) for k in range(answer)]
            yield None, tokens, answer, names


def count(path, block):
    calls = inputs = outputs = blocks = 0
    known = set()
    for scope, tokens, answer, names in prompts(path):
        calls, inputs, outputs = calls + 1, inputs + tokens, outputs + answer
        if names and isinstance(names[0], tuple):
            names = [hash(tuple(names[k:k + block])) for k in range(0, tokens, block)]
        before = hash(scope)
        for name in names[:tokens // block]:
            before = hash((before, name))
            known.add(before)
            blocks += 1
    found = (blocks - len(known)) * block
    print(f"{calls} requests, {inputs} tokens of prompts, {found} of them found ({found / inputs:.2%}), {outputs} of answers")


count(sys.argv[1], int(sys.argv[2]))
