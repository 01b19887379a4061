"""Warn of users whose login fails twice in a row within ten seconds.

The same, in another form, for three failures in a row within ten seconds, told apart from those who
gave up: a success, or silence.
"""

from dataclasses import dataclass

from penstock.cep import CEP, AfterMatchSkipStrategy, Pattern
from penstock.common import Time, WatermarkStrategy
from penstock.datastream import OutputTag, StreamExecutionEnvironment


@dataclass
class LoginEvent:
    user_id: str
    ip: str
    event_type: str
    event_time: int


LOGINS = [
    LoginEvent("1", "192.168.0.1", "fail", 1558430842),
    LoginEvent("1", "192.168.0.2", "fail", 1558430843),
    LoginEvent("1", "192.168.0.3", "fail", 1558430844),
    LoginEvent("2", "192.168.10.10", "success", 1558430845),
    LoginEvent("3", "192.168.10.11", "fail", 1558430846),
    LoginEvent("3", "192.168.10.11", "success", 1558430848),
    LoginEvent("3", "192.168.10.11", "fail", 1558430850),
    LoginEvent("3", "192.168.10.11", "fail", 1558430861),
]
GAVE_UP = OutputTag("gave up")


def failed(login):
    return login.event_type == "fail"


def warning(match):
    first, second = match["begin"][0], match["next"][0]
    return f"user {first.user_id} failed at {first.event_time} and {second.event_time}"


def attack(match):
    return f"user {match['fail'][0].user_id} failed from {', '.join(e.ip for e in match['fail'])}"


def gave_up(match, time):
    tries = len(match["fail"])
    return f"user {match['fail'][0].user_id}, {tries} failed, forgotten at {time // 1000}"


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    ascending = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda login, _: login.event_time * 1000
    )
    logins = env.from_collection(LOGINS).assign_timestamps_and_watermarks(ascending)
    by_user = logins.key_by(lambda login: login.user_id)

    twice = Pattern.begin("begin").where(failed).next("next").where(failed)
    CEP.pattern(by_user, twice.within(Time.seconds(10))).select(warning).print("warning")

    three = Pattern.begin("fail", AfterMatchSkipStrategy.skip_past_last_event()).where(failed)
    three = three.times(3).consecutive().within(Time.seconds(10))
    attacks = CEP.pattern(by_user, three).select(GAVE_UP, gave_up, attack)
    attacks.print("attack")
    attacks.get_side_output(GAVE_UP).print("gave up")
    env.execute("login failures")


if __name__ == "__main__":
    main()
