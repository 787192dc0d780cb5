"""A Qdrant on loopback: the part of its REST interface that OpenQuery uses, over the official client's own engine.

    with FakeQdrant(key="secret") as server:
        ServerCollections(server.url, SecretStr("secret"))

Errors are worded as Qdrant words them. `server.engine` is the engine, for a test to fill "by another tool".
`server.faults` are replies that come instead of answers, one a request, and `server.outage` one that comes to every
request while it is set; `strict` refuses what has no index.
"""

import re
import warnings
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from tests.services.loopback import Loopback, Reply, Request, json_reply

if TYPE_CHECKING:
    from qdrant_client.http import models as m

READS = ("/points/query", "/points/query/batch", "/points/scroll", "/points/count", "/facet")


class Refusal(Exception):
    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class FakeQdrant(Loopback):
    def __init__(self, key: str = "", *, strict: bool = False, read_only: bool = False) -> None:
        # Importing the client takes seconds, and most processes that collect these tests start no Qdrant.
        from qdrant_client import QdrantClient

        super().__init__(self._answer)
        warnings.filterwarnings("ignore", "Payload indexes have no effect in the local Qdrant")
        self.engine = QdrantClient(":memory:")
        self.key, self.strict, self.read_only = key, strict, read_only
        self.indexed: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.faults: deque[Reply] = deque()
        self.outage: Reply | None = None

    async def _answer(self, request: Request) -> Reply:
        if self.outage:
            return self.outage
        if self.faults:
            return self.faults.popleft()
        if self.key and request.headers.get("api-key") != self.key:
            said = b"Must provide an API key or an Authorization bearer token"
            if "api-key" in request.headers:
                said = b"Invalid API key or JWT"
            return Reply((said,), status=401, content_type="text/plain")
        try:
            result = self._result(request)
        except Refusal as refusal:
            return _error(refusal.status, str(refusal))
        except ValueError as error:  # also the engine's own word for what it cannot find
            return _error(400, f"Wrong input: {error}")
        return json_reply({"result": _plain(result), "status": "ok", "time": 0.001})

    def _result(self, request: Request) -> Any:
        if request.path == "/collections":
            return self.engine.get_collections()
        found = re.fullmatch(r"/collections/([^/]+)(/.*)?", request.path)
        if not found:
            raise Refusal(404, "")
        name, rest = found[1], found[2] or ""
        reads = request.method == "GET" or rest in READS or (request.method, rest) == ("POST", "/points")
        if self.read_only and not reads:
            raise Refusal(403, "Forbidden: Global manage access is required")
        there = self.engine.collection_exists(name)
        if rest == "/exists":
            return {"exists": there}
        if (request.method, rest) == ("PUT", ""):
            return self._created(name, request.json, there)
        if (request.method, rest) == ("DELETE", ""):
            self.indexed.pop(name, None)
            return self.engine.delete_collection(name) if there else False
        if not there:
            raise Refusal(404, f"Not found: Collection `{name}` doesn't exist!")
        return self._within(name, f"{request.method} {rest}", request)

    def _created(self, name: str, asked: dict[str, Any], there: bool) -> bool:
        from qdrant_client.http import models as m

        if there:
            raise Refusal(409, f"Wrong input: Collection `{name}` already exists!")
        params = m.CreateCollection.model_validate(asked)
        return self.engine.create_collection(name, vectors_config=params.vectors)

    def _within(self, name: str, asked: str, request: Request) -> Any:
        from qdrant_client.http import models as m

        match asked:
            case "GET ":
                return self.engine.get_collection(name)
            case "PUT /index":
                self.indexed[name][request.json["field_name"]] = request.json["field_schema"]
                return {"operation_id": 1, "status": "completed"}
            case "PUT /points":
                batch = m.PointsBatch.model_validate(request.json).batch
                return self.engine.upsert(name, batch)
            case "POST /points":
                body = m.PointRequest.model_validate(request.json)
                return self.engine.retrieve(name, body.ids, with_payload=body.with_payload)
            case "POST /points/query":
                return self._query(name, m.QueryRequest.model_validate(request.json))
            case "POST /points/query/batch":
                batch_asked = m.QueryRequestBatch.model_validate(request.json)
                return [self._query(name, one) for one in batch_asked.searches]
            case "POST /points/scroll":
                scrolled = m.ScrollRequest.model_validate(request.json)
                self._narrowing(name, scrolled.filter)
                points, after = self.engine.scroll(
                    name,
                    scrolled.filter,
                    scrolled.limit or 10,
                    offset=scrolled.offset,
                    with_payload=scrolled.with_payload,
                )
                return {"points": _plain(points), "next_page_offset": after}
            case "POST /points/count":
                counted = m.CountRequest.model_validate(request.json)
                return self.engine.count(name, counted.filter)
            case "POST /points/delete":
                selector = m.FilterSelector.model_validate(request.json)
                self._narrowing(name, selector.filter)
                return self.engine.delete(name, selector)
            case "POST /facet":
                facet = m.FacetRequest.model_validate(request.json)
                if facet.key not in self.indexed[name]:
                    raise Refusal(400, f"Bad request: No appropriate index for faceting: `{facet.key}`.")
                return self.engine.facet(name, facet.key, facet.filter, facet.limit or 10)
        raise Refusal(404, "")

    def _query(self, name: str, asked: "m.QueryRequest") -> Any:
        from qdrant_client.http import models as m

        self._narrowing(name, asked.filter)
        return self.engine.query_points(
            name,
            query=asked.query.nearest if isinstance(asked.query, m.NearestQuery) else asked.query,
            using=asked.using,
            query_filter=asked.filter,
            limit=asked.limit or 10,
            with_payload=asked.with_payload,
            with_vectors=asked.with_vector or False,
        )

    def _narrowing(self, name: str, narrowed: "m.Filter | None") -> None:
        """A strict server answers a condition only from an index of the field, and of the right type."""
        if not self.strict or narrowed is None:
            return
        for one in re.finditer(r"key='([^']+)', match=(\w+)(?:\(value=('?))?", repr(narrowed)):
            wanted = "keyword" if one[3] else "integer"
            if self.indexed[name].get(one[1]) != wanted:
                raise Refusal(
                    400, f'Bad request: Index required but not found for "{one[1]}" of type [{wanted}].'
                )


def _error(status: int, said: str) -> Reply:
    return json_reply({"status": {"error": said}, "time": 0.0}, status=status)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return [_plain(one) for one in value] if isinstance(value, list) else value
