"""Values keep what they are on the way in and out."""

import pytest

from rego_platform import Policies, RegoError, UndefinedError


@pytest.fixture
def same(tmp_path):
    (tmp_path / "p.rego").write_text("package p\n\nsame := input\n\nkind := type_name(input)\n")
    policies = Policies.load(tmp_path)
    return lambda value: policies.evaluate("data.p.same", value)


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        "",
        "é😀\u0000",
        True,
        False,
        0,
        -1,
        2**53 + 1,
        2**63,
        -(2**200),
        10**400,
        1.5,
        -0.1,
        {"a": [1, {"b": None}], "": "x"},
    ],
)
def test_values_are_unchanged(same, value):
    out = same(value)
    assert out == value and type(out) is type(value)


def test_other_types_come_out_as_in_json(same, tmp_path):
    assert same((1, "a")) == [1, "a"]
    assert repr(same([10.0, 1e21, 0.1])) == "[10, 1e+21, 0.1]"
    assert same({3, 1, 2}) == [1, 2, 3]
    assert same(frozenset({"b", "a"})) == ["a", "b"]
    policies = Policies.load(tmp_path)
    assert policies.evaluate('{1: "a", [2]: {"b"}}') == {"1": "a", "[2]": ["b"]}
    assert policies.evaluate("data.p.kind", {1}) == "set"
    assert policies.evaluate("data.p.kind", input_json="null") == "null"
    assert policies.evaluate("data.p.same", input_json=b'{"n": 1.0e2}') == {"n": 100}


def test_what_has_no_value_is_refused(same):
    for value in [object(), 1j, b"x", {1: 2}, [{"a": object()}]]:
        with pytest.raises(TypeError):
            same(value)
    for value in [float("nan"), float("inf"), [float("-inf")]]:
        with pytest.raises(ValueError, match="number without a JSON form"):
            same(value)
    deep = []
    for _ in range(600):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply: the limit is 512"):
        same(deep)


def test_no_input_and_undefined(same, tmp_path):
    policies = Policies.load(tmp_path)
    with pytest.raises(UndefinedError, match="`data.p.same` is undefined") as raised:
        policies.evaluate("data.p.same")
    assert raised.value.kind == "undefined" and "packages" in raised.value.hint
    with pytest.raises(RegoError, match="unexpected eof token"):
        policies.evaluate("data.p.")
    with pytest.raises(TypeError, match="conflicting arguments"):
        policies.evaluate("data.p.same", {}, input_json="{}")
    for json in ["{", '{"a": 1} 2', b"\xff"]:
        with pytest.raises(ValueError, match="isn't JSON"):
            policies.evaluate("data.p.same", input_json=json)
    assert policies.packages() == ["p"]
