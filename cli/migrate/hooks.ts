import { formatDuration, parseDuration } from '../../shared/domain/text/duration.ts';
import { type GitSyncOptions, pathFromRoot, textOf } from './git-sync-options.ts';
import type { Container } from './manifest.ts';
import { type Place, placeOf } from './pod-paths.ts';
import type { Notes, Spec } from './source.ts';

type Gateway = NonNullable<Spec['gateway']>;
type Request = NonNullable<NonNullable<Gateway['reload']>['requests']>[number];

/** A request to the application after a change, as configured in a tool. */
export interface Call {
  url: string;
  method: string;
  /** Expected status; undefined accepts any success. */
  expectStatus?: number | undefined;
  timeoutMs?: number | undefined;
}

/** Reads the hooks of git-sync. Paths of files are relative to the volume. */
export function readReload(
  from: { options: GitSyncOptions; container: Container; place: Place },
  notes: Notes,
): Gateway | undefined {
  const { settings } = from.options;
  const command = textOf(settings, 'exechook-command') || textOf(settings, 'sync-hook-command');
  // The arguments may contain a secret.
  const [program] = command?.trim().split(/\s/) ?? [];
  if (program)
    notes.todo(
      `--exechook-command ${program} has no counterpart: the agent does not run programs. Use spec.gateway.reload.signal if the application reloads on a signal, spec.gateway.reload.touchFile if it can watch a file, or spec.gateway.reload.requests`,
    );
  const url = textOf(settings, 'webhook-url');
  const status = Number(textOf(settings, 'webhook-success-status') || 200);
  const call = url && {
    url,
    method: textOf(settings, 'webhook-method') || 'POST',
    expectStatus: status >= 100 && status < 600 ? status : undefined,
    timeoutMs: parseDuration(textOf(settings, 'webhook-timeout') ?? ''),
  };
  const gateway = call ? gatewayFor(call, notes) : undefined;
  if (gateway && textOf(settings, 'webhook-backoff'))
    notes.dropped('--webhook-backoff: the agent sets the delay before a retry');
  if (gateway) notes.differs('the request has the header X-Sync-Commit instead of Gitsync-Hash');
  if (gateway && !(status >= 100 && status < 600)) notes.differs('any response was accepted, and now only 2xx');
  const touched = textOf(settings, 'touch-file');
  const touchFile = touched ? touchFileOf(touched, from, notes) : undefined;
  if (!gateway && !touchFile) return undefined;
  return { ...gateway, reload: { ...gateway?.reload, ...(touchFile && { touchFile }) } };
}

function touchFileOf(
  file: string,
  { options, container, place }: { options: GitSyncOptions; container: Container; place: Place },
  notes: Notes,
): string | undefined {
  const touched = placeOf(container, pathFromRoot(options, file));
  if (touched?.volume === place.volume) {
    notes.differs(`--touch-file ${file} now contains the commit and the time`);
    return touched.path;
  }
  notes.todo(`--touch-file ${file} is not on the data volume, which spec.gateway.reload.touchFile requires`);
  return undefined;
}

/** Converts a request, which has to go to the same pod. Otherwise adds a note and returns undefined. */
export function gatewayFor({ url, method, expectStatus, timeoutMs }: Call, notes: Notes): Gateway | undefined {
  const no = (why: string) => {
    notes.todo(`the request to ${placeOfUrl(url)} after a change has no counterpart: ${why}`);
    return undefined;
  };
  if (!URL.canParse(url)) return no('it is not a URL');
  const { protocol, hostname, port, pathname, search, username } = new URL(url);
  if (!['localhost', '127.0.0.1', '[::1]'].includes(hostname)) return no('the agent sends requests only to its pod');
  const name = method.toUpperCase();
  if (!['GET', 'POST', 'PUT'].includes(name)) return no(`the method is ${name}, not GET, POST, or PUT`);
  if (username)
    notes.todo('the request had a user and a password: specify a Secret in headersFrom of spec.gateway.reload');
  const tls = protocol === 'https:';
  const timeout = timeoutMs && formatDuration(Math.min(Math.max(timeoutMs, 1000), 300_000));
  const request: Request = {
    method: name as NonNullable<Request['method']>,
    path: `${pathname.replace(/^\/+/, '/')}${search}`,
    ...(expectStatus && { expectStatus }),
    ...(timeout && { timeout }),
  };
  return { port: Number(port || (tls ? 443 : 80)), ...(tls && { tls }), reload: { requests: [request] } };
}

/** Without path and user, because URLs of chat tools contain secrets. */
const placeOfUrl = (url: string): string => (URL.canParse(url) ? new URL(url).host : 'a webhook');
