#!/usr/bin/env python3
"""Asks an OpenAI-compatible server sums, and writes a line with the score of each.

    evaluate.py BASE_URL MODEL OUTPUT QUESTIONS

Replace the questions by your own: all that pipeline reads is the id and the score, 0 to 1, of
each. The same ids must be there in every run. An answer that does not come is an error and no
score of 0, so that a server that fails is not taken for one that answers badly.
"""

import concurrent.futures
import json
import re
import sys
import urllib.request


def ask(base_url, model, a, b):
    body = {
        "model": model,
        "prompt": f"7 + 5 = 12\n20 + 31 = 51\n{a} + {b} =",
        "max_tokens": 6,
        "temperature": 0,
    }
    request = urllib.request.Request(
        base_url + "/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)["choices"][0]["text"]


def score(answer, a, b):
    number = re.match(r"\s*(-?\d+)", answer)
    return 1 if number and int(number[1]) == a + b else 0


def main(base_url, model, output, questions):
    sums = [(7 * i % 89, 13 * i % 97) for i in range(int(questions))]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda s: ask(base_url, model, *s), sums))
    with open(output, "w", encoding="utf-8") as file:
        for i, ((a, b), answer) in enumerate(zip(sums, answers)):
            print(json.dumps({"id": f"{i}: {a}+{b}", "score": score(answer, a, b)}), file=file)


main(*sys.argv[1:])
