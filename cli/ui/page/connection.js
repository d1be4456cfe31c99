// Receives updates in one stream, which is closed while the page is hidden.

/** @typedef {import('../board.ts').Update} Update */
/** @typedef {{ namespace: string, name: string } | undefined} Open */

/**
 * Follows the cluster, and reconnects automatically.
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
      // The browser doesn't reconnect after a rejected request.
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
 * Sends a request to kubectl stoker. Throws an error with its message.
 * @param {string} path
 * @param {object} [body] of a request for a plan or a change
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
