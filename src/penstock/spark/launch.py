"""The command that starts Spark's JVM, and the connection to it.

Spark's own script runs a JVM only to find out how to start the next one. Where the settings ask
for nothing that needs it, the command is made here instead: all its arguments, and all settings,
are in files that only the user can read, so that no other user sees them in a list of processes.
"""

from __future__ import annotations

import os
import shlex
import signal
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from penstock.spark.internals import GATEWAY_INFO_VARIABLE, GATEWAY_MAIN, connect_to_jvm

_DRIVER = "spark.driver."
#: What Spark needs of the Java platform that is closed by default.
_OPENED = (
    *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio"),
    *("java.util", "java.util.concurrent", "java.util.concurrent.atomic"),
    *("jdk.internal.ref", "sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"),
)
_FIXED = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)
#: With any of these set, Spark's own script must find out what they mean.
_VARIABLES_OF_SUBMIT = (
    "SPARK_HOME",
    "SPARK_CONF_DIR",
    "SPARK_SUBMIT_OPTS",
    "SPARK_DIST_CLASSPATH",
    "SPARK_DRIVER_MEMORY",
    "HADOOP_CONF_DIR",
    "YARN_CONF_DIR",
    "PYSPARK_SUBMIT_ARGS",
    "PYSPARK_GATEWAY_PORT",
)
_KEYS_OF_SUBMIT = (
    "spark.jars",
    "spark.files",
    "spark.archives",
    "spark.submit.",
    "spark.kerberos.",
    "spark.driver.extraLibraryPath",
    "spark.driver.defaultJavaOptions",
)
_LOOK_SECONDS = 0.01


@dataclass(frozen=True)
class Jvm:
    """A JVM that is starting."""

    process: subprocess.Popen[bytes]
    #: Where it writes the port that it listens on.
    info: Path


def is_plain(settings: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """Tell whether the JVM can be started without Spark's own script."""
    master = settings["spark.master"]
    return (
        master.partition("[")[0] == "local"
        and not any(environ.get(name) for name in _VARIABLES_OF_SUBMIT)
        and not any(key.startswith(_KEYS_OF_SUBMIT) for key in settings)
    )


def own_command(
    java: str,
    settings: Mapping[str, str],
    jars: Sequence[str],
    options: Sequence[str],
    arguments: Path,
) -> list[str]:
    """Return the command of a JVM that is started without Spark's script.

    :param jars: Spark's own, behind what the settings put on the class path.
    :param options: of the JVM, besides those of the settings.
    :param arguments: a file to write the arguments to.
    """
    extra = settings.get(f"{_DRIVER}extraClassPath")
    class_path = os.pathsep.join([*([extra] if extra else []), *jars])
    given = shlex.split(settings.get(f"{_DRIVER}extraJavaOptions", ""))
    memory = settings.get(f"{_DRIVER}memory", "1g")
    write_arguments(
        arguments, ["-cp", class_path, f"-Xmx{memory}", *given, *options, *_FIXED, GATEWAY_MAIN]
    )
    return [java, f"@{arguments}"]


def submit_command(
    spark_home: str, settings: Mapping[str, str], environ: Mapping[str, str], properties: Path
) -> list[str]:
    """Return the command of a JVM that Spark's script starts.

    :param properties: a file to write the settings to.
    """
    lines = [f"{_escaped(key, '=: #!')}={_escaped(value, '')}" for key, value in settings.items()]
    write_private(properties, "\n".join(lines) + "\n")
    more = shlex.split(environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    script = os.path.join(spark_home, "bin", "spark-submit")
    return [script, "--load-spark-defaults", "--properties-file", str(properties), *more]


def start(
    command: Sequence[str], folder: Path, environ: Mapping[str, str], log: IO[bytes], lock: int
) -> Jvm:
    """Start a JVM; it runs until its standard input ends.

    :param lock: an open file that it inherits.
    """
    info = folder / "gateway"
    process = subprocess.Popen(
        list(command),
        env={**environ, "SPARK_CONNECT_MODE": "0", GATEWAY_INFO_VARIABLE: str(info)},
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        pass_fds=(lock,),
        # An interrupt from the keyboard is for the program: it ends the job in good order.
        preexec_fn=_ignore_interrupts,
    )
    return Jvm(process, info)


def connect(jvm: Jvm) -> Any:
    """Wait until a JVM is up, and return py4j's gateway to it.

    :raises RuntimeError: if it has ended instead.
    """
    while not jvm.info.is_file():
        if jvm.process.poll() is not None:
            raise RuntimeError(f"it ended with exit code {jvm.process.returncode}")
        time.sleep(_LOOK_SECONDS)
    data = jvm.info.read_bytes()
    jvm.info.unlink()
    port, length = struct.unpack(">ii", data[:8])
    gateway = connect_to_jvm(port, data[8 : 8 + length].decode())
    gateway.proc = jvm.process
    return gateway


def write_arguments(path: Path, arguments: Sequence[str]) -> None:
    """Write a file of arguments as `java @file` reads it."""
    quoted = (a.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for a in arguments)
    write_private(path, "".join(f'"{argument}"\n' for argument in quoted))


def write_private(path: Path, text: str) -> None:
    """Write a file that only the user can read."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(text)


def _escaped(text: str, special: str) -> str:
    """Return a text as a Java properties file has it."""
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    for character in special:
        text = text.replace(character, f"\\{character}")
    return f"\\{text}" if text.startswith(" ") else text


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
