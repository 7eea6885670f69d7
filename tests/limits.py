"""Length and complexity of functions: `python tests/limits.py src/sfit` prints the largest.

With a second folder, that of another version, the table has both: before and after.
"""

import ast
import sys
from pathlib import Path

MAX_LINES = 70
MAX_COMPLEXITY = 15

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def functions(folder):
    """(name, node) of every function in a folder; a name is `path:Class.function`."""
    for path in sorted(Path(folder).rglob("*.py")):
        for name, node in _inside(ast.parse(path.read_text("utf-8")), ()):
            yield f"{path.relative_to(folder).as_posix()}:{'.'.join(name)}", node


def _inside(node, names):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            if isinstance(child, FUNCTIONS):
                yield (*names, child.name), child
            yield from _inside(child, (*names, child.name))
        else:
            yield from _inside(child, names)


def length(function):
    """Lines from the first statement after the docstring to the end."""
    first, *others = function.body
    if ast.get_docstring(function, clean=False) is None:
        return function.end_lineno - first.lineno + 1
    return function.end_lineno - others[0].lineno + 1 if others else 0


def complexity(function):
    """Cyclomatic complexity as radon counts it, functions inside included.

    Beyond ruff's C901 it counts `and`, `or`, conditional expressions, comprehensions and lambdas.
    """
    return 1 + sum(_branches(node) for node in ast.walk(function) if node is not function)


def _branches(node):
    match node:
        case ast.If() | ast.IfExp() | ast.Assert() | ast.Lambda():
            return 1
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return 1
        case ast.For() | ast.AsyncFor() | ast.While():
            return 1 + bool(node.orelse)
        case ast.Try() | ast.TryStar():
            return len(node.handlers) + bool(node.orelse)
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.comprehension():
            return 1 + len(node.ifs)
        case ast.Match():
            return len(node.cases)
    return 0


def largest(folder, measure, count=10):
    """The functions of a folder with the largest values of a measure."""
    values = [(measure(node), name) for name, node in functions(folder)]
    return sorted(values, key=lambda one: (-one[0], one[1]))[:count]


def table(folders):
    """Markdown: the ten longest and the ten most complex functions of each folder, side by side."""
    titles = [""] if len(folders) == 1 else ["before: ", "after: "]
    columns = [
        (f"{title}{what}", largest(folder, measure))
        for what, measure in (("lines", length), ("complexity", complexity))
        for title, folder in zip(titles, folders, strict=True)
    ]
    lines = [
        [head for head, _ in columns],
        ["---"] * len(columns),
        *(
            [f"{value} `{name}`" for value, name in row]
            for row in zip(*(c[1] for c in columns), strict=True)
        ),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(table(sys.argv[1:]))
