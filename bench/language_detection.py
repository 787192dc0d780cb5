"""Language detection: the share of texts whose language is known, and CPU microseconds a text (decision 0045).

    python -m bench.language_detection
    python -m bench.language_detection --data FOLDER

Without data: the short questions of `tests/data/questions_by_language.json`, the handbook's articles and its questions.
With XQuAD's folder (see `bench.languages`): its questions, their first four words and its paragraphs, of the half of
the paragraphs that is reported (`--half develop`: the other, by which the limits were chosen). "Unknown" is the share
of texts without a language. Paragraphs are also read as pages that declare English, or German if they are English:
"overruled" is the share that gets the right language, "kept" that of paragraphs that declare their own and keep it.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

from bench.languages import held_back, rows
from core.text.language import dominant_language, page_language

ROOT = Path(__file__).resolve().parent.parent
FEW = 4


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--half", choices=("report", "develop"), default="report")
    parser.add_argument("--wrong", action="store_true", help="print the texts that get another language")
    args = parser.parse_args()
    dominant_language(["The model is loaded."])
    print(f"{time.strftime('%Y-%m-%d')}, {args.half} half\n")
    print("| texts | number | right | unknown | least right | CPU µs a text |")
    print("|---|---|---|---|---|---|")
    for name, texts in sets(args.data, args.half):
        print(row(name, texts, wrong=args.wrong), flush=True)
    if args.data:
        print(f"\n{declarations(list(paragraphs(args.data, args.half)))}")


def sets(data: Path | None, half: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the name and the texts, with their language, of each set."""
    short = json.loads((ROOT / "tests/data/questions_by_language.json").read_text("utf-8"))
    yield "short questions", [(text, language) for language, texts in short.items() for text in texts]
    yield "of these English", [(text, "en") for text in short["en"]]
    handbook = json.loads((ROOT / "tests/data/handbook_questions.json").read_text("utf-8"))
    yield "handbook questions", [(question, "en") for question in questions_of(handbook)]
    yield (
        "handbook articles",
        [(path.read_text("utf-8"), "en") for path in (ROOT / "docs/handbook").glob("*.md")],
    )
    if data:
        asked = [
            (row["question"], row["lang"])
            for row in rows(data / "questions.jsonl.gz")
            if held_back(row["paragraph"]) is (half == "report")
        ]
        yield "XQuAD questions", asked
        spaced = [(text, language) for text, language in asked if language not in ("zh", "th")]
        yield f"first {FEW} words", [(" ".join(text.split()[:FEW]), language) for text, language in spaced]
        yield "XQuAD paragraphs", list(paragraphs(data, half))


def questions_of(value: object) -> Iterator[str]:
    """Yield the strings below the key `question` at any depth."""
    if isinstance(value, dict):
        if isinstance(question := value.get("question"), str):
            yield question
        for part in value.values():
            yield from questions_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from questions_of(part)


def paragraphs(data: Path, half: str) -> Iterator[tuple[str, str]]:
    for item in rows(data / "paragraphs.jsonl.gz"):
        if held_back(item["id"]) is (half == "report"):
            yield item["text"], item["lang"]


def row(name: str, texts: Iterable[tuple[str, str]], *, wrong: bool) -> str:
    found: defaultdict[str, list[str]] = defaultdict(list)
    begin = cpu()
    for text, language in texts:
        found[language].append(dominant_language([text]))
    number = sum(map(len, found.values()))
    spent = (cpu() - begin) / number * 1e6
    if wrong:
        for text, language in texts:
            if (other := dominant_language([text])) != language:
                print(language, other or "-", text[:100])
    shares = {language: codes.count(language) / len(codes) for language, codes in found.items()}
    right = sum(codes.count(language) for language, codes in found.items()) / number
    unknown = sum(codes.count("") for codes in found.values()) / number
    least = min(shares, key=shares.__getitem__)
    return f"| {name} | {number} | {right:.3f} | {unknown:.3f} | {least} {shares[least]:.3f} | {spent:.0f} |"


def declarations(texts: list[tuple[str, str]]) -> str:
    kept = [page_language(language, text) == language for text, language in texts]
    begin = cpu()
    overruled = [
        page_language("de" if language == "en" else "en", text) == language for text, language in texts
    ]
    spent = (cpu() - begin) / len(texts) * 1e6
    return (
        f"Declared rightly and kept: {sum(kept) / len(kept):.3f}. Declared wrongly and overruled: "
        f"{sum(overruled) / len(overruled):.3f}. CPU µs a page: {spent:.0f}"
    )


def cpu() -> float:
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
