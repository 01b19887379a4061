from __future__ import annotations

import inspect

from penstock.datastream.stream_execution_environment import build_plan
from tests.unit.graph.programs import environment, source


def line_above() -> int:
    caller = inspect.currentframe().f_back
    return caller.f_lineno - 1


def test_every_operator_knows_the_line_that_made_it():
    env = environment(1)
    stream = source(env)
    mapped = stream.map(str)
    at_map = line_above()
    mapped.key_by(0).sum(0)
    at_sum = line_above()
    sites = [op.site for op in build_plan(env).operators]
    assert [site.line for site in sites[1:]] == [at_map, at_sum]
    assert str(sites[1]) == f"{__file__}:{at_map}"


def test_a_function_of_the_users_that_builds_operators_is_the_place():
    def build(stream):
        return stream.print()

    env = environment(1)
    build(source(env))
    plan = build_plan(env)
    assert plan.operators[-1].site.line == build.__code__.co_firstlineno + 1


def test_code_without_a_file_has_a_site_too():
    env = environment(1)
    exec(compile("\n\nstream.map(str)", "<cell 3>", "exec"), {"stream": source(env)})
    assert str(build_plan(env).operators[-1].site) == "<cell 3>:3"
