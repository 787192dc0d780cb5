"""A reranking server on loopback."""

from tests.services.loopback import Loopback, Reply, Request, json_reply


class Judge(Loopback):
    """A reranker that likes short passages; `broken` makes it forget one score."""

    def __init__(self) -> None:
        super().__init__(self._reply)
        self.broken = False

    async def _reply(self, request: Request) -> Reply:
        scores = [
            {"index": at, "relevance_score": -float(len(text))}
            for at, text in enumerate(request.json["documents"])
        ]
        return json_reply({"results": scores[1:] if self.broken else scores})
