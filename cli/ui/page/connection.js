// One stream of news for the page; a page that nobody sees gives its connection back.

/** @typedef {import('../board.ts').Update} Update */
/** @typedef {{ namespace: string, name: string } | undefined} Open */

/**
 * Follows the cluster, and comes back by itself.
 * @param {{ onUpdate: (update: Update, isFirst: boolean) => void, onLost: () => void }} listener
 */
export function follow({ onUpdate, onLost }) {
  /** @type {EventSource | undefined} */
  let source;
  /** @type {Open} */
  let open;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let retry;

  const stop = () => {
    clearTimeout(retry);
    source?.close();
    source = undefined;
  };
  const start = () => {
    stop();
    const query = open ? `?${new URLSearchParams(open)}` : '';
    const current = new EventSource(`events${query}`);
    let isFirst = true;
    current.onmessage = ({ data }) => {
      onUpdate(JSON.parse(data), isFirst);
      isFirst = false;
    };
    current.onerror = () => {
      onLost();
      // A refusal is final for the browser, which does not try again then.
      if (current.readyState === EventSource.CLOSED) retry = setTimeout(start, 2_000);
    };
    source = current;
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) stop();
    else start();
  });
  return {
    /** @param {Open} next */
    show(next) {
      open = next;
      if (!document.hidden) start();
    },
  };
}

const token = /** @type {HTMLMetaElement | null} */ (document.querySelector('meta[name=token]'))?.content ?? '';

/**
 * Asks kubectl stoker. What it refuses becomes an error with its words.
 * @param {string} path
 * @param {object} [body] of what changes something, or would
 * @returns {Promise<any>}
 */
export async function ask(path, body) {
  const how = body && {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Stoker-Token': token },
    body: JSON.stringify(body),
  };
  const response = await fetch(path, how).catch(() => {
    throw new Error('kubectl stoker ui does not respond: it may have exited');
  });
  const text = await response.text();
  const isJson = response.headers.get('Content-Type') === 'application/json';
  if (!response.ok) throw new Error(isJson ? JSON.parse(text).says : text.trim());
  return JSON.parse(text);
}
