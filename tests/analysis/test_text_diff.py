from core.analysis.text_diff import FOLD_EDGE, DiffKind, DiffPiece, diff_blocks, diff_sentences


def test_difference_tells_what_was_kept_removed_and_added() -> None:
    pieces = diff_sentences(["Menu", "One  sentence.", "Two."], ["one sentence", "Three.", "Two."])
    assert [(piece.kind, piece.text) for piece in pieces] == [
        (DiffKind.REMOVED, "Menu"),
        (DiffKind.COMMON, "One  sentence."),
        (DiffKind.ADDED, "Three."),
        (DiffKind.COMMON, "Two."),
    ]


def test_neighbouring_pieces_are_one_block_with_its_lines() -> None:
    pieces = [
        DiffPiece(kind=DiffKind.COMMON, text="One."),
        DiffPiece(kind=DiffKind.COMMON, text="Two.\n"),
        DiffPiece(kind=DiffKind.COMMON, text="Three."),
        DiffPiece(kind=DiffKind.ADDED, text="Four.\n"),
    ]
    assert [(block.kind, block.text) for block in diff_blocks(pieces)] == [
        (DiffKind.COMMON, "One. Two.\nThree."),
        (DiffKind.ADDED, "Four."),
    ]


def test_the_middle_of_what_both_have_can_be_folded() -> None:
    words = " ".join(f"word{n}" for n in range(400))
    pieces = [DiffPiece(kind=DiffKind.COMMON, text=words), DiffPiece(kind=DiffKind.REMOVED, text=words)]
    common, left_out = diff_blocks(pieces, folded=True)
    assert len(common.text) + common.hidden + len(common.rest) == len(words)
    assert len(common.text) <= FOLD_EDGE and len(common.rest) <= FOLD_EDGE
    assert (left_out.text, left_out.hidden) == (words, 0)


def test_only_so_much_is_shown() -> None:
    pieces = [
        DiffPiece(kind=kind, text="x" * 90) for kind in (DiffKind.COMMON, DiffKind.ADDED, DiffKind.REMOVED)
    ]
    assert [len(block.text) for block in diff_blocks(pieces, limit=100)] == [90, 12]
