import type { IncomingMessage } from 'node:http';
import { PassThrough, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** A request that reached a git server, for tests to count and inspect. */
export interface GitRequest {
  method: string;
  /** Path and query. */
  path: string;
  /** `org/name` of `/org/name.git/…`. */
  repository: string;
  /** Version of the protocol that the client requested. */
  protocol: 0 | 1 | 2;
  /** The command of a request in version 2; known once its body has arrived. */
  command: 'ls-refs' | 'fetch' | undefined;
  /** Whether it lists all tags; known once its body has arrived. */
  listsTags: boolean;
  authorised: boolean;
  /** Milliseconds since the epoch. */
  at: number;
  /** Status of the response; undefined until there is one. */
  status: number | undefined;
}

/** Describes a request from its first line and headers. */
export function describeRequest(request: IncomingMessage, authorised: boolean): GitRequest {
  const target = request.url ?? '/';
  const version = /version=([12])/.exec(String(request.headers['git-protocol'] ?? ''))?.[1] ?? '0';
  return {
    method: request.method ?? '',
    path: target,
    repository: /^\/(.+?)(?:\.git)?\/(?:info\/refs|git-)/.exec(target)?.[1] ?? '',
    protocol: Number(version) as GitRequest['protocol'],
    command: undefined,
    listsTags: false,
    authorised,
    at: Date.now(),
    status: undefined,
  };
}

/** Enough for the command and the first prefixes. */
const HEAD_BYTES = 1_024;

/** Returns the unpacked body of a request; its first packet contains the command of gitprotocol-v2(5). */
export function readBody(request: IncomingMessage, entry: GitRequest): Readable {
  const unpacked = request.headers['content-encoding'] === 'gzip' ? request.pipe(createGunzip()) : request;
  const body = new PassThrough();
  let head = '';
  unpacked.on('data', (chunk: Buffer) => {
    if (head.length >= HEAD_BYTES) return;
    head += chunk.toString('latin1', 0, HEAD_BYTES);
    const command = /^[0-9a-f]{4}command=(ls-refs|fetch)/.exec(head)?.[1];
    entry.command = command as GitRequest['command'];
    entry.listsTags = head.includes('ref-prefix refs/tags/\n');
  });
  unpacked.on('error', (error) => body.destroy(error));
  return unpacked.pipe(body);
}
