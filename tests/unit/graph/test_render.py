from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from penstock.core.functions import CoMapFunction, ProcessFunction
from penstock.core.output_tag import OutputTag
from penstock.datastream.stream_execution_environment import build_plan
from penstock.errors import ConfigurationError
from penstock.graph.drawing import to_svg
from penstock.graph.plan_layout import BOX_HEIGHT, lay_out
from tests.unit.graph.programs import environment, first, source

SVG = "{http://www.w3.org/2000/svg}"


class Pair(CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        return value


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


def program():
    env = environment(2)
    a, b = source(env, "A"), source(env, "B <&>")
    split = a.process(Split()).name("split")
    split.get_side_output(OutputTag("late")).print().name("late")
    split.connect(b).map(Pair()).key_by(first).sum(0).set_parallelism(3).print().name("out")
    return env


def test_the_execution_plan_is_flinks_json():
    env = environment(2)
    words = env.from_collection(["a b"]).flat_map(str.split).set_description("cut into words")
    words.key_by(first).sum(0).print("counts")
    assert json.loads(env.get_execution_plan()) == {
        "nodes": [
            {
                "id": 1,
                "type": "Source: Collection Source",
                "pact": "Data Source",
                "contents": "Source: Collection Source",
                "parallelism": 1,
            },
            {
                "id": 2,
                "type": "FlatMap",
                "pact": "Operator",
                "contents": "cut into words",
                "parallelism": 2,
                "predecessors": [{"id": 1, "ship_strategy": "REBALANCE", "side": "first"}],
            },
            {
                "id": 3,
                "type": "Keyed Aggregation",
                "pact": "Operator",
                "contents": "Keyed Aggregation",
                "parallelism": 2,
                "predecessors": [{"id": 2, "ship_strategy": "HASH", "side": "first"}],
            },
            {
                "id": 4,
                "type": "Sink: Print to Std. Out",
                "pact": "Data Sink",
                "contents": "Sink: Print to Std. Out",
                "parallelism": 2,
                "predecessors": [{"id": 3, "ship_strategy": "FORWARD", "side": "first"}],
            },
        ]
    }


def test_the_second_input_is_marked():
    env = environment(1)
    source(env, "A").connect(source(env, "B").broadcast()).map(Pair())
    node = json.loads(env.get_execution_plan())["nodes"][-1]
    assert node["predecessors"] == [
        {"id": 1, "ship_strategy": "FORWARD", "side": "first"},
        {"id": 2, "ship_strategy": "BROADCAST", "side": "second"},
    ]


def test_asking_for_the_plan_does_not_use_it_up():
    env = environment(1)
    source(env).print()
    assert env.get_execution_plan() == env.get_execution_plan()


def test_the_plan_as_text():
    assert program().explain() == (
        "level 0: in the readers of the sources\n"
        "  [1] Source: A (parallelism 2)\n"
        "  [2] Source: B <&> (parallelism 2)\n"
        "  [3] split (parallelism 2) <- FORWARD [1]\n"
        "  [4] Sink: late (parallelism 2) <- FORWARD 'late' [3]\n"
        "level 1: in 3 slots\n"
        "  [5] Co-Map (parallelism 2) <- FORWARD [3], FORWARD [2]\n"
        "level 2: in 3 slots\n"
        "  [6] Keyed Aggregation (parallelism 3) <- HASH [5]\n"
        "level 3: in 3 slots\n"
        "  [7] Sink: out (parallelism 2) <- REBALANCE [6]"
    )


def test_boxes_do_not_overlap_and_levels_stand_side_by_side():
    layout = lay_out(build_plan(program()))
    boxes = list(layout.boxes.values())
    for i, one in enumerate(boxes):
        for two in boxes[i + 1 :]:
            apart = (
                one.x + one.width < two.x
                or two.x + two.width < one.x
                or one.y + BOX_HEIGHT < two.y
                or two.y + BOX_HEIGHT < one.y
            )
            assert apart, (one, two)
    assert [band.level for band in layout.bands] == [0, 1, 2, 3]
    for left, right in zip(layout.bands, layout.bands[1:], strict=False):
        assert left.x + left.width <= right.x
    for box in boxes:
        assert box.x >= 0
        assert box.x + box.width <= layout.width
        assert box.y >= 0
        assert box.y + BOX_HEIGHT <= layout.height


def test_the_drawing_shows_every_operator_and_edge():
    root = ElementTree.fromstring(to_svg(build_plan(program())))
    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert {"Source: B <&>", "Co-Map", "parallelism 3", "HASH", "FORWARD 'late'"} <= texts
    assert {"level 0", "level 3"} <= texts
    arrows = [path for path in root.iter(f"{SVG}path") if "marker-end" in path.attrib]
    assert len(arrows) == 6


def test_a_long_name_is_shortened_in_its_box_only():
    env = environment(1)
    source(env, "n" * 80).print()
    root = ElementTree.fromstring(to_svg(build_plan(env)))
    assert any("n" * 80 in element.text for element in root.iter(f"{SVG}title"))
    assert all(len(element.text) <= 36 for element in root.iter(f"{SVG}text"))


def test_a_drawing_is_written_by_the_suffix_of_its_file(tmp_path):
    env = program()
    env.draw_execution_plan(tmp_path / "plan.svg")
    ElementTree.parse(tmp_path / "plan.svg")
    with pytest.raises(ConfigurationError) as caught:
        env.draw_execution_plan("plan.gif")
    assert str(caught.value) == (
        "a plan is drawn as SVG or PNG\n"
        "  where: draw_execution_plan()\n"
        "  got:   'plan.gif'\n"
        "  to do: end the file's name with .svg or .png"
    )


def test_a_png_without_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigurationError) as caught:
        program().draw_execution_plan("plan.png")
    assert str(caught.value) == (
        "a PNG drawing needs matplotlib, which is not installed\n"
        "  where: draw_execution_plan()\n"
        "  got:   'plan.png'\n"
        "  to do: install matplotlib, or end the file's name with .svg"
    )
