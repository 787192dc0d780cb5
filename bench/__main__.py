"""List the benchmarks with what each measures: `python -m bench`."""

import ast
from pathlib import Path

if __name__ == "__main__":
    for file in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        source = file.read_text("utf-8")
        if '__name__ == "__main__"' in source:
            purpose = (ast.get_docstring(ast.parse(source)) or "").split("\n\n", maxsplit=1)[0]
            print(f"python -m bench.{file.stem}\n    {' '.join(purpose.split())}")
