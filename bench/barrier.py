"""What popular scripts do, for comparison: each phase waits for the whole of the one before it.

1. The model's queries are awaited as one reply; then all are searched at once.
2. When all hit lists are in, 16 threads fetch the pages, each with `httpx.get` (a new client, hence a new TLS
   context, per page) and the same page timeout, and extract them with trafilatura in the same thread.
3. When all pages are in, their text is cut every 500 characters (50 repeated) and embedded in one go, 2,048
   texts to a call, the most that the common service takes; the vectors come as JSON numbers, the API's default.
4. numpy ranks them, and the answer is streamed from the best six.

It is meant to be fair: searches and fetches are parallel, nothing is done twice, nothing sleeps, and it
skips what OpenQuery also does beside the point: robots.txt, address checks, caches, an event log.
"""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
import numpy as np
import trafilatura
from numpy.typing import NDArray

THREADS = 16
"""A little above what such scripts usually have; more gain nothing here, for extraction holds the GIL."""


@dataclass(frozen=True)
class Barrier:
    search_url: str
    models_url: str
    queries: int
    results: int
    timeout: float

    def ask(self, question: str) -> tuple[float, float, int]:
        """Seconds to context and to the first token of the answer, and the number of pages read."""
        began = time.perf_counter()
        plan = self._chat(f"{question} Write {self.queries} search queries, one a line.")
        queries = [line.strip() for line in plan.splitlines() if line.strip()][: self.queries]
        with ThreadPoolExecutor(THREADS) as pool:
            urls = list(dict.fromkeys(url for found in pool.map(self._search, queries) for url in found))
            texts = [text for text in pool.map(self._read, urls) if text]
        passages = [text[at : at + 500] for text in texts for at in range(0, len(text), 450)]
        vectors = self._embed([question, *passages])
        cosine = vectors[1:] @ vectors[0]
        best = [passages[row] for row in np.argsort(-cosine)[:6]]
        context = time.perf_counter() - began
        first = self._first_token(question + "\n\n".join(best), began)
        return context, first, len(texts)

    def _search(self, query: str) -> list[str]:
        reply = httpx.get(f"{self.search_url}/search", params={"q": query, "format": "json"}, timeout=10)
        return [row["url"] for row in reply.json()["results"][: self.results]]

    def _read(self, url: str) -> str:
        try:
            reply = httpx.get(url, timeout=self.timeout, follow_redirects=True)
            reply.raise_for_status()
        except httpx.HTTPError:
            return ""
        return trafilatura.extract(reply.text) or ""

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        rows = []
        for at in range(0, len(texts), 2048):
            body = {"model": "bench-embed", "input": texts[at : at + 2048]}
            reply = httpx.post(f"{self.models_url}/embeddings", json=body, timeout=60)
            rows += [row["embedding"] for row in reply.json()["data"]]
        vectors = np.array(rows, dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def _request(self, content: str) -> dict[str, object]:
        messages = [{"role": "user", "content": content}]
        return {"model": "bench-chat", "messages": messages, "stream": True}

    def _chat(self, content: str) -> str:
        reply = httpx.post(f"{self.models_url}/chat/completions", json=self._request(content), timeout=60)
        found = re.findall(r'"content": ("(?:[^"\\]|\\.)*")', reply.text)
        return "".join(json.loads(text) for text in found)

    def _first_token(self, content: str, began: float) -> float:
        """When the first token came. The rest of the answer is awaited too."""
        first = 0.0
        url = f"{self.models_url}/chat/completions"
        with httpx.stream("POST", url, json=self._request(content), timeout=60) as reply:
            for line in reply.iter_lines():
                if not first and '"content"' in line:
                    first = time.perf_counter() - began
        return first
