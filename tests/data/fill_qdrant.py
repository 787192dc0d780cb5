"""Another program that fills a collection of a Qdrant: it reads points from stdin, and knows nothing of OpenQuery.

python fill_qdrant.py FOLDER|URL NAME < [{"id": …, "vector": […], "payload": {…}}, …]
"""

import json
import sys


def embedded(folder: str, points: list) -> None:
    import qdrant_edge as edge

    params = edge.EdgeVectorParams(size=len(points[0]["vector"]), distance=edge.Distance.Cosine)
    shard = edge.EdgeShard.create(folder, edge.EdgeConfig(vectors=params))
    rows = [edge.Point(one["id"], one["vector"], one["payload"]) for one in points]
    shard.update(edge.UpdateOperation.upsert_points(rows))
    shard.close()


def served(url: str, name: str, points: list) -> None:
    from qdrant_client import QdrantClient, models

    client = QdrantClient(url, check_compatibility=False)
    size = len(points[0]["vector"])
    client.create_collection(
        name, vectors_config=models.VectorParams(size=size, distance=models.Distance.COSINE)
    )
    fields = {f"{field}s": [one[field] for one in points] for field in ("id", "vector", "payload")}
    client.upsert(name, models.Batch(**fields))


where, collection = sys.argv[1:]
given = json.load(sys.stdin)
if where.startswith("http"):
    served(where, collection, given)
else:
    import pathlib

    folder = pathlib.Path(where, collection)
    folder.mkdir(parents=True)
    embedded(str(folder), given)
