// A reply that arrives in parts: lines of JSON, of which the last one has the whole conversation.

import { send, statusOf } from './page.js';

/** As `post`, but `show` is called with the text so far. Without the last line, the server failed: it can be asked again. */
export async function receive(path, body, show, options = {}) {
  try {
    const response = await send(path, body, options);
    if (response.status !== 200) return { status: response.status, answer: await response.json().catch(() => ({})) };
    const answer = await lastLine(response.body, show);
    return { status: answer ? 200 : 500, answer };
  } catch (error) {
    return { status: statusOf(error), answer: {} };
  }
}

async function lastLine(body, show) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let [rest, text] = ['', ''];
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const lines = (rest + read.value).split('\n');
    rest = lines.pop();
    for (const { added, chat } of lines.map((line) => JSON.parse(line))) {
      if (chat) return chat;
      text += added;
      show(text);
    }
  }
  return null;
}
