"""Fits the weights by which blocks of a page are chosen, and the kind of a page is told, to labelled pages (decision 0081).

    pip install scikit-learn
    python -m bench.block_training --data FOLDER --half both --out core/reading/html/block_weights.npz
    python -m bench.block_training --data FOLDER --half develop --out develop.npz
    python -m bench.extraction --data FOLDER --weights develop.npz

FOLDER is that of `bench.extraction`. The weights that ship have learned from all pages; what they are good for is measured on
the half that others have not seen. A block is labelled by how many of its runs of three words are in the page's text, a
short one by its words as often as the text has them; where only segments are known, by the segments in it. Kinds are
learned by logistic regression over `page_signs`; what blocks learn from are the kinds that a model of other hosts tells.
Prints the digest to write into `core/reading/html/block_choice.py`.
"""

import argparse
import hashlib
import io
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

import numpy as np

from bench.extraction import SETS, LabelledPage, labelled_pages, one_spaced
from core.model import Unreadable
from core.reading.html.accurate_extractor import candidates_of
from core.reading.html.block_features import block_features
from core.reading.html.dom_cleaning import remove_hidden_lxml
from core.reading.html.html_parsing import parse_html, truncate_html
from core.reading.html.page_kinds import page_signs
from core.reading.html.rewriting import rewrite_markup
from core.reading.html.text_blocks import Block, page_blocks, wrap_loose_text
from core.reading.page_parts.block_words import BlockWords, Matrix
from core.text.decoding import decode

FOLDS = 3
SAMPLE = 110
"""Blocks of a page that are learned from, at most."""
RARE = 8
"""Pages of the labelled kinds that have a sign, at least, and that have it not."""
TREES = {
    "max_iter": 110, "learning_rate": 0.1, "max_leaf_nodes": 16, "max_depth": 7, "min_samples_leaf": 60,
    "l2_regularization": 20, "max_features": 0.25, "max_bins": 63, "early_stopping": False, "random_state": 0,
}  # fmt: skip


@dataclass(slots=True)
class Example:
    """A page as rows of numbers: `labels` are from 0 to 1, NaN where nothing is known."""

    host: str
    kind: str
    signs: dict[str, float]
    features: Matrix
    labels: Any
    sizes: Any


def example(page: LabelledPage) -> Example | None:
    """The example of a page; None where it has no blocks."""
    try:
        html, _ = truncate_html(decode(page.body))
        html = rewrite_markup(html)
        tree = parse_html(html)
    except Unreadable:
        return None
    remove_hidden_lxml(tree)
    wrap_loose_text(tree)
    blocks = page_blocks(tree, buttons=True)
    if not blocks:
        return None
    words = BlockWords.of(blocks)
    features = block_features(blocks, words, candidates_of(tree, html, page.url), [])
    labels = text_labels(words.words, page.text) if page.text else segment_labels(blocks, page)
    host = ".".join(urlsplit(page.url).netloc.split(".")[-2:])
    signs = page_signs(html, page.url, blocks, words.said)
    return Example(host, page.kind, signs, features, labels, np.array([len(text) for text in words.words]))


def text_labels(texts: Sequence[Sequence[str]], wanted: str) -> Any:
    """How much of each block is in the text that is wanted."""
    words = re.findall(r"\w+", wanted.lower())
    runs = set(zip(words, words[1:], words[2:], strict=False))
    whole, lines = (
        f" {' '.join(words)} ",
        {tuple(re.findall(r"\w+", line.lower())) for line in wanted.split("\n")},
    )
    labels = np.zeros(len(texts))
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        if len(text) >= 3:
            inside = list(zip(text, text[1:], text[2:], strict=False))
            labels[place] = sum(run in runs for run in inside) / len(inside)
        if 0 < len(text) < 8:
            alike[tuple(text)].append(place)
    good = np.array([label > 0.8 and len(text) >= 5 for label, text in zip(labels, texts, strict=True)])
    near = np.array([good[max(0, place - 15) : place + 16].mean() for place in range(len(texts))])
    for short, places in alike.items():
        times = whole.count(f" {' '.join(short)} ")
        if len(short) < 3 and short not in lines and len(short) < 2:
            times = min(times, len(places)) if near[places].max() > 0.25 else 0
        for rank, place in enumerate(sorted(places, key=lambda place: -near[place])):
            if len(short) < 3:
                labels[place] = float(rank < times)
            elif rank >= times > 0:
                labels[place] = 0.0
    return labels


def segment_labels(blocks: Sequence[Block], page: LabelledPage) -> Any:
    """1 for blocks with a segment that is wanted, 0 for those with one that is not."""
    labels = np.full(len(blocks), np.nan)
    for place, block in enumerate(blocks):
        text = one_spaced(block.text)
        for value, segments in ((1, page.present), (0, page.absent)):
            if any(part and (part in text or (len(text) > 25 and text in part)) for part in segments):
                labels[place] = value
    return labels


def folds(examples: Sequence[Example]) -> Any:
    return np.array([crc32(page.host.encode()) // 7 % FOLDS for page in examples])


def sign_matrix(examples: Sequence[Example], names: Sequence[str]) -> Any:
    return np.array([[page.signs.get(name, 0.0) for name in names] for page in examples])


def fit_kinds(examples: Sequence[Example], names: Sequence[str]) -> tuple[Any, Any]:
    """The model of kinds, and the chances of the kinds of each example by a model that has not seen its host."""
    from sklearn.linear_model import LogisticRegression

    def fitted(pages: Sequence[Example]) -> Any:
        known = [page for page in pages if page.kind]
        model = LogisticRegression(C=0.1, max_iter=500)
        return model.fit(sign_matrix(known, names), [page.kind for page in known])

    fold, chances = folds(examples), [None] * len(examples)
    for number in range(FOLDS):
        model = fitted([page for page, other in zip(examples, fold, strict=True) if other != number])
        for place in np.flatnonzero(fold == number):
            chances[place] = model.predict_proba(sign_matrix([examples[place]], names))[0]
    return fitted(examples), chances


def fit_blocks(examples: Sequence[Example], chances: Sequence[Any]) -> Any:
    """The trees. A block that is partly wanted is learned from twice, once as each, by its share."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    random = np.random.default_rng(0)
    rows, labels, weights = [], [], []
    for page, chance in zip(examples, chances, strict=True):
        known = np.flatnonzero(~np.isnan(page.labels))
        if len(known) > SAMPLE:
            known = np.sort(random.choice(known, SAMPLE, replace=False))
        label = page.labels[known]
        weight = (page.sizes[known] + 0.001) ** 0.6
        weight *= 10 / (weight.sum() + 1e-9) ** 0.7 * (1.0 if page.kind else 0.6)
        row = np.column_stack([page.features[known], np.tile(chance, (len(known), 1))]).astype(np.float32)
        mixed = (label > 0.02) & (label < 0.98)
        rows += [row, row[mixed]]
        labels += [label >= 0.5, label[mixed] < 0.5]
        weights += [weight * np.maximum(label, 1 - label), (weight * np.minimum(label, 1 - label))[mixed]]
    model = HistGradientBoostingClassifier(**TREES)
    return model.fit(np.vstack(rows), np.concatenate(labels), sample_weight=np.concatenate(weights))


def weights_file(names: Sequence[str], kinds: Any, trees: Any) -> bytes:
    """The weights as `block_choice` reads them: of each tree a row of nodes, of which a leaf leads to itself."""
    nodes = [tree[0].nodes for tree in trees._predictors]
    shape = (len(nodes), max(map(len, nodes)))
    kinds_of = {
        "feature": np.int16,
        "threshold": np.float32,
        "below": np.uint8,
        "above": np.uint8,
        "value": np.float32,
    }
    arrays = {name: np.zeros(shape, kind) for name, kind in kinds_of.items()}
    for row, tree in enumerate(nodes):
        leaf, own = tree["is_leaf"].astype(bool), np.arange(len(tree))
        for name, values in {
            "feature": np.where(leaf, 0, tree["feature_idx"]),
            "threshold": np.where(leaf, np.inf, tree["num_threshold"]),
            "below": np.where(leaf, own, tree["left"]),
            "above": np.where(leaf, own, tree["right"]),
            "value": np.where(leaf, tree["value"], 0),
        }.items():
            arrays[name][row, : len(tree)] = values
    written = io.BytesIO()
    np.savez_compressed(
        written,
        signs=np.array(names),
        kinds=kinds.coef_.astype(np.float32),
        kind_bias=kinds.intercept_.astype(np.float32),
        kind_names=np.array(list(map(str, kinds.classes_))),
        bias=np.float32(trees._baseline_prediction.ravel()[0]),
        depth=np.int16(max(int(tree["depth"].max()) for tree in nodes)),
        **arrays,
    )
    return written.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the labelled sets")
    parser.add_argument("--half", choices=("develop", "held-back", "both"), default="develop")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    pages = [page for name in SETS for page in labelled_pages(arguments.data / name, arguments.half)]
    examples = list(filter(None, map(example, pages)))
    labelled = [page for page in examples if page.kind]
    counts = Counter(name for page in labelled for name, value in page.signs.items() if value)
    names = sorted(name for name in counts if RARE <= counts[name] <= len(labelled) - RARE)
    kinds, chances = fit_kinds(examples, names)
    written = weights_file(names, kinds, fit_blocks(examples, chances))
    arguments.out.write_bytes(written)
    print(len(examples), "pages,", len(written), "bytes,", hashlib.sha256(written).hexdigest())


if __name__ == "__main__":
    main()
