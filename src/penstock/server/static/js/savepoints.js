// A savepoint takes its time: the server gives a number, and is asked until it is done.

const PAUSE = 500;

export async function savepointDone(api, job, trigger, tell) {
  for (let turn = 0; ; turn += 1) {
    const answer = await api.get(`jobs/${job}/savepoints/${trigger}`);
    if (answer.status?.id === "COMPLETED") {
      const failure = answer.operation?.["failure-cause"];
      if (failure) throw new Error(reasonOf(failure));
      return answer.operation?.location ?? "";
    }
    if (turn === 2) tell("The savepoint is being written …");
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

function reasonOf(failure) {
  const lines = String(failure["stack-trace"] ?? failure.class ?? "the savepoint failed").trim().split("\n");
  return lines[0];
}
