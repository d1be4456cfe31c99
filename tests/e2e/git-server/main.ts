import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { createGunzip } from 'node:zlib';
import { answerWithGit } from '../../../scripts/testbed/git-http-backend.ts';

/** Serves the bare repository site.git over HTTP on port 8080; runs in a pod, bundled. */
const root = '/srv/git';

execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', `${root}/site.git`]);

const server = createServer((request, response) => {
  if (request.url === '/healthz') {
    response.end('ok\n');
    return;
  }
  const packed = request.headers['content-encoding'] === 'gzip';
  answerWithGit(request, response, { root, body: packed ? request.pipe(createGunzip()) : request });
});

server.listen(8080);
process.once('SIGTERM', () => process.exit(0));
