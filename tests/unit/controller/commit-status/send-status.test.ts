import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { statusSender } from '../../../../controller/commit-status/send-status.ts';
import { GitHttp } from '../../../../controller/polling/git-http.ts';
import { clientWith } from '../../../support/client-with.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { localHttp } from '../../../support/local-http.ts';
import { commit, resource } from './resource.ts';

/** Posts a status to a server that accepts all; `leftMs` are the remaining times of the lease, one per call. */
async function arrange(t: TestContext, leftMs: number[]) {
  let posts = 0;
  const api = await startHttpHost(t, (_, response) => {
    posts += 1;
    response.writeHead(201).end('{}');
  });
  const http = new GitHttp({}, localHttp().guard);
  t.after(() => http.close());
  const secret = { data: { k: Buffer.from('token').toString('base64') } };
  const client = clientWith({ getAs: async () => secret });
  const send = statusSender({ client, http, githubApps: undefined, writeWithinMs: () => leftMs.shift() ?? 0 });
  const destination = {
    provider: 'github',
    api,
    project: ['plant', 'config'],
    context: 'sync',
    target: 'hash',
  } as const;
  const status = { commit, state: 'success', description: '' } as const;
  const post = () =>
    send(resource(), { destination: { ...destination, project: [...destination.project] }, status }, t.signal);
  return { post, posts: () => posts };
}

test('a commit status is posted while the lease lasts', async (t) => {
  const { post, posts } = await arrange(t, [10_000, 10_000]);
  await post();
  assert.equal(posts(), 1);
});

test("a commit status isn't posted if the lease expires before there is a connection", async (t) => {
  const { post, posts } = await arrange(t, [10_000, 0]);
  await assert.rejects(post(), { code: 'commitStatus.fenced' });
  assert.equal(posts(), 0);
});
