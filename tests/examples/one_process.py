"""Run the programs given, one after another in this process, each as its `__main__`.

Spark is started once instead of once a program. Their outputs are told apart by a line in front.
"""

import runpy
import sys
import traceback

for program in sys.argv[1:]:
    print(f"=== {program}", flush=True)
    try:
        runpy.run_path(program, run_name="__main__")
    except BaseException:
        print("failed, see standard error", flush=True)
        print(f"=== {program}", file=sys.stderr)
        traceback.print_exc()
