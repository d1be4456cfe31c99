import type { IncomingMessage, RequestListener } from 'node:http';
import { H3, type H3Event, HTTPError } from 'h3';
import { toNodeHandler } from 'h3/node';
import { Problem } from '../client/problem.ts';
import type { Asset } from './assets.ts';
import type { Board } from './board.ts';
import type { Desk } from './desk.ts';
import { type Door, type Knock, SAFE_HEADERS } from './door.ts';
import { plainly } from './views.ts';

export interface AppOptions {
  door: Door;
  board: Board;
  desk: Desk;
  /** Files of the page by name, including `index.html`. */
  assets: ReadonlyMap<string, Asset>;
  /** Cluster and namespace of the page. */
  place: { context: string; namespace: string | undefined };
}

const MAX_BODY_BYTES = 4_096;
/** Interval of pings that detect closed pages (ms). */
const PING_MS = 15_000;

/** The page as a request listener. */
export function createApp({ door, board, desk, assets, place }: AppOptions): RequestListener {
  const app = new H3({
    silent: true,
    // h3 rejects a path with invalid escapes before the door checks it.
    onError: (error) =>
      HTTPError.isError(error) && error.status === 400
        ? text(400, 'malformed request')
        : answer(500, { says: 'internal error' }),
  });

  app.use((event) => {
    const verdict = door.judge(knockOf(event));
    if (verdict.kind === 'refused') return text(verdict.status, verdict.says);
    if (verdict.kind === 'enter')
      return new Response(null, {
        status: 303,
        headers: { ...SAFE_HEADERS, Location: door.base, 'Set-Cookie': door.cookie },
      });
    return undefined;
  });

  app.get(door.base, () => file(assets.get('index.html'), (html) => fill(html, { token: door.pageToken, ...place })));
  app.get(`${door.base}page/:name`, ({ context }) => file(assets.get(context.params?.name ?? '')));

  app.get(`${door.base}events`, (event) => {
    const { searchParams } = event.url;
    const namespace = searchParams.get('namespace');
    const name = searchParams.get('name');
    const ended = new AbortController();
    const leave = () => ended.abort();
    event.runtime?.node?.res?.once('close', leave);
    const signal = AbortSignal.any([ended.signal, door.session]);
    const updates = board.updates(namespace && name ? { namespace, name } : undefined, signal);
    const headers = { ...SAFE_HEADERS, 'Content-Type': 'text/event-stream' };
    return new Response(streamOf(updates, signal, leave), { headers });
  });

  app.get(`${door.base}trace`, ({ url }) => reply(() => desk.trace(addressIn(url.searchParams))));
  app.get(`${door.base}rights`, ({ url }) => reply(() => desk.rights(addressIn(url.searchParams))));
  app.post(`${door.base}plan`, (event) => reply(async () => desk.plan(await bodyOf(event))));
  app.post(`${door.base}order`, (event) => reply(async () => desk.carryOut(await bodyOf(event))));
  app.all('/**', () => text(404, 'not found'));
  return toNodeHandler(app) as RequestListener;
}

function knockOf(event: H3Event): Knock {
  return { method: event.req.method, url: event.url, headers: requestOf(event).headers };
}

const requestOf = (event: H3Event) => event.runtime?.node?.req as unknown as IncomingMessage;

const answer = (status: number, value: object) =>
  new Response(JSON.stringify(plainly(value)), {
    status,
    headers: { ...SAFE_HEADERS, 'Content-Type': 'application/json' },
  });

const text = (status: number, says: string) =>
  new Response(`${says}\n`, { status, headers: { ...SAFE_HEADERS, 'Content-Type': 'text/plain; charset=utf-8' } });

/** Responds with the result of an action, or with its error. */
async function reply(action: () => Promise<object>): Promise<Response> {
  try {
    return answer(200, await action());
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return answer(409, { code: error.code, says: error.message });
  }
}

function file(asset: Asset | undefined, change: (content: string) => string = (content) => content): Response {
  if (!asset) return text(404, 'not found');
  return new Response(change(asset.content), { headers: { ...SAFE_HEADERS, 'Content-Type': asset.type } });
}

/** Fills in `{{ name }}` in attributes. */
const fill = (html: string, values: Record<string, string | undefined>) =>
  html.replaceAll(/\{\{ (\w+) \}\}/g, (_, name: string) =>
    (values[name] ?? '').replaceAll(/[&"<>]/g, (character) => `&#${character.charCodeAt(0)};`),
  );

function addressIn(parameters: URLSearchParams) {
  return { namespace: parameters.get('namespace'), name: parameters.get('name') };
}

async function bodyOf(event: H3Event): Promise<unknown> {
  let body = '';
  for await (const chunk of requestOf(event) as AsyncIterable<Buffer>) {
    body += chunk;
    if (body.length > MAX_BODY_BYTES) throw new Problem('the request of the page is too large', 'PageFailed');
  }
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new Problem('the request of the page is invalid', 'PageFailed', { cause: error });
  }
}

/** Streams events (https://html.spec.whatwg.org/multipage/server-sent-events.html) as fast as the client reads them. */
function streamOf(updates: AsyncGenerator<object>, signal: AbortSignal, leave: () => void): ReadableStream {
  const encoder = new TextEncoder();
  let ping: NodeJS.Timeout;
  return new ReadableStream({
    start: (controller) => {
      ping = setInterval(() => controller.enqueue(encoder.encode(':\n\n')), PING_MS);
      signal.addEventListener('abort', () => clearInterval(ping));
    },
    pull: async (controller) => {
      try {
        const { value, done } = await updates.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`));
      } catch (error) {
        leave();
        throw error;
      }
    },
    cancel: leave,
  });
}
