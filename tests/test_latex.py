"""Tables as LaTeX: everything escaped, one table or all, long ones over several pages."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from hostile import HOSTILE, hostile_comparisons, hostile_result
from hypothesis import given
from hypothesis import strategies as st

import sfit
from sfit._export import as_latex
from sfit._export._latex_text import escaped, number
from sfit.exceptions import ArgumentError
from sfit.report._blocks import Card, Cards, Cell, Document, Matrix, Section, Table, Text

PREAMBLE = r"\documentclass{article}\usepackage{booktabs,longtable,array}\begin{document}"

# What may stand in escaped text: letters that are no commands, and these commands.
COMMANDS = (
    r"\\text(?:backslash|asciitilde|asciicircum|less|greater|bar|asciigrave|quoteleft|quoteright"
    r"|quotedblleft|quotedblright)\{\}|\\[&%$#_{}]|\\symbol\{34\}|\\(?:ldots|S|ss|ae|AE|oe|OE|o|O|l|L|i)\{\}"
    r"|\$\\[A-Za-z]+\$|\$-\$|\$\^\\circ\$|\\[`'^~=u.\"rHvc]\{[A-Za-z]\}|\\texttt\{U\+[0-9A-F]{4,6}\}"
    r"|\\allowbreak\{\}|\{[\[\]*]?\}|~"
)
LITERAL = re.compile(rf"(?:{COMMANDS}|[A-Za-z0-9 .,:;!?'()/=+@-])*")


@pytest.fixture(scope="module")
def result():
    X, y = sfit.simulate.interactions(2000, random_state=0)
    return sfit.feature_significance(sfit.simulate.interactions_mean, X, y, max_order=2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a & b % $ # _ { } ~ ^ \\",
            r"a \& b \% \$ \# \_ \{ \} \textasciitilde{} \textasciicircum{} \textbackslash{}",
        ),
        ("[1pt]", "{[}1pt{]}"),
        ("*", "{*}"),
        ("a--b''c", "a-{}-b'{}'c"),
        ("é ü č å ø ß", r"\'{e} \"{u} \v{c} \r{a} \o{} \ss{}"),
        ("β ≤ ∞ −1", r"$\beta$ $\leq$ $\infty$ $-$1"),
        ("名", r"\texttt{U+540D}"),
        ("a\nb", r"a\textbackslash{}nb"),
        ("\U0001d4b3", r"\texttt{U+1D4B3}"),
        ("<a|b>", r"\textless{}a\textbar{}b\textgreater{}"),
    ],
)
def test_what_is_escaped(text, expected):
    assert escaped(text) == expected


@given(st.text(max_size=60), st.booleans())
def test_no_text_is_a_command(text, breaks):
    written = escaped(text, breaks=breaks)
    assert written.isascii()
    assert LITERAL.fullmatch(written)


@given(st.lists(st.sampled_from(["a", "b", "_", "&", "\\", "{", "-", "é", "名"]), max_size=8))
def test_different_names_stay_different(letters):
    text = "".join(letters)
    others = {text[:place] + text[place + 1 :] for place in range(len(text))} - {text}
    assert escaped(text) not in {escaped(other) for other in others}


def test_numbers_are_powers_of_ten():
    assert number("2.78e-44") == r"$2.78\times10^{-44}$"
    assert number("< 1e-300") == r"$<1\times10^{-300}$"
    assert number("−1.5e+06") == r"$-1.5\times10^{6}$"
    assert number("1,234") == "1,234"
    assert number("2e\\input{x}") == r"2e\textbackslash{}input\{x\}"


def test_all_tables_or_one(result, tmp_path):
    everything = result.to_latex(tmp_path / "all.tex")
    assert (tmp_path / "all.tex").read_text(encoding="utf-8") == everything + "\n"
    keys = re.findall(r"\\label\{tab:(\w+)\}", everything)
    assert keys == ["tests", "losses", "gates", "stages"]
    for key in keys:
        one = result.to_latex(table=key)
        assert re.findall(r"\\label\{tab:(\w+)\}", one) == [key]
        assert one.splitlines()[-1] in everything
    with pytest.raises(ArgumentError, match=r"table='test' .*'tests', 'losses'"):
        result.to_latex(table="test")


def test_the_rows_are_those_of_the_page(result):
    table = result.to_latex(table="tests")
    body = table.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == len(result.tests)
    bold = [line for line in body if line.startswith(r"\textbf")]
    assert len(bold) == sum(test.significant for test in result.tests)
    assert "bold: significant" in table
    strongest = result.tests[0]
    assert any(f"{strongest.estimate:.4f}" in line for line in body)


def test_long_tables_use_several_pages():
    table = hostile_result().to_latex(table="tests")
    assert r"\begin{longtable}" in table
    assert r"\endhead" in table
    assert r"\begin{table}" not in table


def test_matrices_and_cards_are_tables_too():
    matrix = Matrix("M", "m", "f", ("g_1",), ("a&b",), (("0.1",),), ((True,),), "Starred.")
    small = Table("T", "t", ("name",), ("name",), ((Cell("x"),),))
    blocks = (Text("no table"), matrix, Cards((Card("c", "", (small,)),)))
    latex = as_latex(Document("d", "", (Section("s", "s", blocks),), ""))
    assert re.findall(r"\\label\{tab:(\w+)\}", latex) == ["m", "t"]
    assert r"a\&b & 0.1 {*} \\" in latex
    assert "Starred." in latex


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex")
def test_pdflatex_compiles_hostile_names(tmp_path):
    tables = [hostile_result().to_latex(), *(c.to_latex() for c in hostile_comparisons().values())]
    signs = "".join(map(chr, [*range(32, 0x250), *range(0x370, 0x400), *range(0x2000, 0x2300)]))
    rows = [signs[at : at + 30] for at in range(0, len(signs), 30)] + HOSTILE + ["[2cm]", "*"]
    odd = Table(
        "Odd",
        "odd",
        ("name", "[x]"),
        ("name", "name"),
        tuple((Cell(row), Cell("*")) for row in rows),
    )
    short = Table("Short", "short", ("[a]",), ("name",), ((Cell("[1em]"),), (Cell("*b"),)))
    tables.append(as_latex(Document("", "", (Section("", "", (odd, short)),), "")))
    text = "\n".join([PREAMBLE, *tables, r"\end{document}"])
    (tmp_path / "doc.tex").write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "doc.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-3000:]
    assert b"Missing character" not in (tmp_path / "doc.log").read_bytes()


def test_parts_have_tables_of_their_own():
    X, y = sfit.simulate.interactions(600, random_state=0)
    half = np.where(X["X6"] > 0, "upper", "lower")
    parts = sfit.feature_significance(sfit.simulate.interactions_mean, X, y, by=half)
    keys = re.findall(r"\\label\{tab:(\w+)\}", parts.to_latex())
    assert keys[:3] == ["tests_1", "losses_1", "gates_1"]
    assert len(keys) == len(set(keys))
