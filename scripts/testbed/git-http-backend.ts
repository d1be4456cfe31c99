import { execFileSync, spawn } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { gitEnvironment } from './git-command.ts';

/** The program itself, because `git http-backend` would start one more process for each request. */
let program: string | undefined;

/** Passes a request to `git http-backend` (git-http-backend(1)); `body` is the request's body, unpacked. */
export function answerWithGit(
  request: IncomingMessage,
  response: ServerResponse,
  { body, root }: { body: Readable; root: string },
): void {
  program ??= path.join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');
  const cgi = spawn(program, { env: cgiEnvironment(request, root), stdio: ['pipe', 'pipe', 'ignore'] });
  cgi.on('error', () => response.destroy());
  // git exits before reading everything if it refuses a request.
  cgi.stdin.on('error', () => {});
  body.pipe(cgi.stdin);
  body.on('error', () => cgi.kill());
  response.on('close', () => cgi.kill());
  passAnswer(cgi.stdout, response);
}

/** Returns the variables of RFC 3875. Without CONTENT_LENGTH git reads to the end, which chunked bodies need. */
function cgiEnvironment(request: IncomingMessage, root: string): NodeJS.ProcessEnv {
  const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
  return {
    ...gitEnvironment(),
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    GATEWAY_INTERFACE: 'CGI/1.1',
    REQUEST_METHOD: request.method ?? 'GET',
    PATH_INFO: decodeURIComponent(pathname),
    QUERY_STRING: search.slice(1),
    CONTENT_TYPE: request.headers['content-type'] ?? '',
    REMOTE_ADDR: request.socket.remoteAddress ?? '',
    // Pushes require a user; this one was authenticated before.
    REMOTE_USER: 'testbed',
    GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
  };
}

/** Splits the CGI response into its headers and the body, which is passed on as it arrives. */
function passAnswer(output: Readable, response: ServerResponse): void {
  let head = Buffer.alloc(0);
  const onData = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    output.off('data', onData);
    writeHeader(head.toString('latin1', 0, end), response);
    response.write(head.subarray(end + 4));
    output.pipe(response);
  };
  output.on('data', onData);
  output.on('end', () => {
    if (!response.headersSent) response.writeHead(500).end();
  });
}

function writeHeader(header: string, response: ServerResponse): void {
  for (const [, name = '', value = ''] of header.matchAll(/^([^:\s]+):[ \t]*(.*)$/gm)) {
    if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10);
    else response.setHeader(name, value.trim());
  }
}
