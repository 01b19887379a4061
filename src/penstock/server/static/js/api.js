// Asks the server this page came from, and nobody else.

export class ApiError extends Error {
  constructor(status, messages) {
    super(messages[0] ?? `the server answered ${status}`);
    this.status = status;
    this.messages = messages;
  }
}

async function ask(method, path, options = {}) {
  const url = new URL(path, document.baseURI);
  let response;
  try {
    response = await fetch(url, { method, ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, ["The server cannot be reached."]);
  }
  if (response.ok) return response;
  throw new ApiError(response.status, await messagesOf(response));
}

async function messagesOf(response) {
  try {
    const answer = await response.json();
    return (answer.errors ?? []).map(String);
  } catch {
    return [];
  }
}

export async function get(path) {
  return (await ask("GET", path)).json();
}

// What an ended job's archive does not have is null.
export async function getIfThere(path) {
  try {
    return await get(path);
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

// The last lines of a file; a log may be long.
export async function tail(path, bytes) {
  return (await ask("GET", `${path}?tail=${bytes}`)).text();
}

export async function send(method, path, body) {
  const options = { headers: { "Content-Type": "application/json" } };
  if (body !== undefined) options.body = JSON.stringify(body);
  const response = await ask(method, path, options);
  const content = await response.text();
  return content ? JSON.parse(content) : {};
}

export async function upload(path, field, file) {
  const form = new FormData();
  form.append(field, file, file.name);
  return (await ask("POST", path, { body: form })).json();
}
