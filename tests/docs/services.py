"""Send the requests in the documentation to a real service."""

import json
import re
import shlex
import subprocess
import sys

import httpx

COMMAND = re.compile(r"^\$ heros serve(?P<arguments>[^\n]*)$", re.MULTILINE)
REQUEST = re.compile(r"^\$ post (?P<path>\S+) '(?P<body>.*?)'\n(?P<reply>[^$]*)", re.MULTILINE | re.DOTALL)


def run_requests(block, where):
    """Start the service of a block, by default without options, and compare its replies with the page."""
    command = COMMAND.search(block.text)
    arguments = shlex.split(command["arguments"]) if command else []
    call = [sys.executable, "-m", "heros", "serve", "--port", "0", *arguments]
    service = subprocess.Popen(call, stderr=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://\S+", service.stderr.readline())[0]
        requests = list(REQUEST.finditer(block.text))
        assert len(requests) == block.text.count("$ post "), where
        for request in requests:
            url = f"{address}/{request['path'].strip(chr(39))}"
            reply = httpx.post(url, json=json.loads(request["body"]), timeout=60)
            assert comparable(reply.text) == comparable(request["reply"]), f"{where}: {request['body']}"
    finally:
        service.terminate()
        service.communicate(timeout=60)


def comparable(reply):
    """Return a reply with fractions rounded to three digits, because processors round differently."""
    return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.3g}", reply.strip())
