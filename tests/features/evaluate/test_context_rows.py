"""Test sets of other tools, whose questions bring their contexts."""

import json
from pathlib import Path

import pytest

from core.errors import BadInput
from core.features.evaluate.data_sets.load import load_data_set

CLIFFS, PONDS = "Gulls nest on cliffs; they're loud.", "Ponds freeze."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "ragas.csv",
            "user_input,reference_contexts,reference,synthesizer_name\n"
            f'Who nests?,"[""{CLIFFS}"", \'{PONDS}\']",Gulls,single\nWhy?,,,single\n',
        ),
        (
            "ragas.jsonl",
            json.dumps(
                {"user_input": "Who nests?", "reference_contexts": [CLIFFS, PONDS], "reference": "Gulls"}
            )
            + '\n{"user_input": "Why?", "reference_contexts": null}\n',
        ),
        (  # a multi-hop question of RAGAS, by way of a data set of Hugging Face: NumPy writes no commas
            "hub.csv",
            "user_input,reference_contexts,reference\n"
            f'Who nests?,"[""<1-hop>\\n\\n{CLIFFS}""\n \'<2-hop>\\n\\n{PONDS}\']",Gulls\nWhy?,[],\n',
        ),
        (  # as pandas writes a frame by default
            "frame.json",
            json.dumps(
                {
                    "user_input": {"0": "Who nests?", "1": "Why?"},
                    "reference_contexts": {"0": [CLIFFS, PONDS], "1": None},
                    "reference": {"0": "Gulls", "1": None},
                }
            ),
        ),
        (  # DeepEval 4.3.1 has a column for the file of a question, and divides contexts by a bar
            "goldens.csv",
            "input,actual_output,expected_output,retrieval_context,context,name,comments,source_file\n"
            f"Who nests?,,Gulls,Something else.,{CLIFFS}|{PONDS},,,gulls.txt\nWhy?,,,,,,,\n",
        ),
        (
            "goldens.jsonl",
            json.dumps(
                {
                    "input": "Who nests?",
                    "actual_output": None,
                    "expected_output": "Gulls",
                    "retrieval_context": "Something else.",
                    "context": f"{CLIFFS}|{PONDS}",
                    "source_file": "gulls.txt",
                }
            )
            + '\n{"input": "Why?", "actual_output": null, "retrieval_context": null, "context": null}\n',
        ),
        (
            "goldens.json",
            json.dumps(
                [
                    {
                        "input": "Who nests?",
                        "actual_output": None,
                        "expected_output": "Gulls",
                        "context": [CLIFFS, PONDS],
                        "retrieval_context": ["Something else."],
                        "source_file": "gulls.txt",
                    },
                    {"input": "Why?", "expected_output": None, "context": []},
                ]
            ),
        ),
        (
            "goldens.json",
            json.dumps(
                {
                    "goldens": [
                        {"input": "Who nests?", "expected_output": "Gulls", "context": [CLIFFS, PONDS]},
                        {"input": "Why?", "context": None},
                    ]
                }
            ),
        ),
    ],
)
def test_each_context_is_a_document_that_answers(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    data = load_data_set(tmp_path / name)
    first, second = data.questions
    documents = {document.id: document.text for document in data.documents()}
    assert list(documents.values()) == [CLIFFS, PONDS]
    assert (first.text, first.judgements, first.answers) == (
        "Who nests?",
        dict.fromkeys(documents, 1),
        ("Gulls",),
    )
    assert (second.text, second.answerable) == ("Why?", False)
    assert "2 contexts of the questions alone" in data.warnings[0]


def test_answers_with_offsets_are_excerpts(tmp_path: Path) -> None:
    row = {"id": "7", "title": "Gulls", "context": CLIFFS, "question": "Who nests?"}
    answers = {"text": ["Gulls", "cliffs"], "answer_start": [0, 3]}
    (tmp_path / "squad.jsonl").write_text(json.dumps(row | {"answers": answers}) + "\n")
    data = load_data_set(tmp_path / "squad.jsonl")
    (document,), (question,) = data.documents(), data.questions
    assert (document.title, question.answers) == ("Gulls", ("Gulls", "cliffs"))
    assert question.excerpts == ((document.id, 0, 5),), "the second offset is wrong"


def test_table_that_names_its_sources_is_one_of_excerpts(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,context,file\nWho?,Gulls nest,a.txt\n")
    (tmp_path / "a.txt").write_text("Gulls nest.")
    assert load_data_set(tmp_path / "q.csv").questions[0].excerpts == (("a.txt", 0, 10),)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("t.jsonl", '{"user_input": "A?", "context": "x"}\n{"user_input": 7, "context": "x"}\n', "line 2 has no question"),
        ("t.jsonl", '{"user_input": "A?", "retrieved_contexts": ["x"]}\n', "line 1 has only contexts that a system"),
        ("t.csv", "user_input,retrieved_contexts\nA?,['x']\n", "line 2 has only contexts that a system"),
        ("t.json", "[1, 2]", "not in SQuAD's layout"),
        ("t.csv", "question,__expected\nWho?,contains: Gulls\n", "has no column excerpt"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_in_words(tmp_path: Path, name: str, text: str, problem: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadInput, match=problem):
        load_data_set(tmp_path / name)
