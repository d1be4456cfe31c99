import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { startGuarded } from '../../scripts/testbed/guarded-process.ts';
import { blocksOf } from '../support/markdown.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { until } from '../support/until.ts';
import { createRepository } from '../unit/agent/support/git-sandbox.ts';
import { createSandbox, type SandboxOptions } from '../unit/agent/support/sandbox.ts';
import { mappingOf } from '../unit/agent/support/tree-files.ts';
import { programPath } from './servers.ts';

const file = path.join(import.meta.dirname, '../../docs/how-to/serve-with-nginx.md');
const [server = '', hidden = ''] = blocksOf({ file, text: await readFile(file, 'utf8') })
  .filter(({ language }) => language === 'nginx')
  .map(({ code }) => code);

/** Workers of root run as another user by default, who can't read the volume of a test. */
const USER = process.getuid?.() === 0 ? 'user root root; ' : '';

/** Serves a directory with the documented server block, and returns a function that requests a path. */
async function serve(t: TestContext, root: string, more = '') {
  const directory = await temporaryDirectory(t, 'nginx-');
  const port = await freePort();
  const block = server
    .replace('listen 8080', `listen 127.0.0.1:${port}`)
    .replace('root /srv/site;', `root ${root}; access_log off; ${more}`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`);
  await writeFile(
    path.join(directory, 'nginx.conf'),
    `${USER}daemon off; pid nginx.pid; error_log stderr; events {} http { ${temporary.join(' ')} ${block} }`,
  );
  const nginx = startGuarded(programPath('nginx') ?? '', ['-p', directory, '-c', 'nginx.conf'], {
    cwd: directory,
    output: { log: path.join(directory, 'nginx.log') },
  });
  t.after(() => nginx.stop());
  const get = async (name: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/${name}`);
    return { status: response.status, text: await response.text() };
  };
  await until(() => get(''), { describe: 'an answer of nginx' });
  return get;
}

/** Delivers two commits with a sandbox. */
async function deliver(
  t: TestContext,
  { options = {}, destination = 'site' }: { options?: SandboxOptions; destination?: string },
) {
  const { url: repo, commit } = await createRepository(`content-${destination}`);
  const first = await commit({ files: { 'public/index.html': 'one' } });
  const second = await commit({ files: { 'public/index.html': 'two' } });
  const sandbox = await createSandbox(t, options);
  const publish = destination === '.' ? {} : { publish: 'atomic' as const };
  const profile = { mappings: [mappingOf('public', destination, publish)] };
  await sandbox.sync({ repo, commit: first, profile });
  return { data: sandbox.data, change: () => sandbox.sync({ repo, commit: second, profile }) };
}

suite('the documented nginx', { skip: programPath('nginx') ? false : 'nginx is not installed' }, () => {
  test('serves the next commit without a reload, and nothing next to it', async (t) => {
    const { data, change } = await deliver(t, {});
    const get = await serve(t, path.join(data, 'site'));
    assert.equal((await get('index.html')).text, 'one');
    await change();
    assert.equal((await get('index.html')).text, 'two');
    assert.equal((await get('.sync-agent/manifest.jsonl')).status, 404);
  });

  test('follows the link unless all links are disabled', async (t) => {
    const { data } = await deliver(t, {});
    const strict = await serve(t, path.join(data, 'site'), 'disable_symlinks on;');
    assert.notEqual((await strict('index.html')).status, 200);
    const checked = await serve(t, path.join(data, 'site'), 'disable_symlinks if_not_owner;');
    assert.equal((await checked('index.html')).status, 200);
  });

  test("doesn't serve the agent's files from the root of its mount", async (t) => {
    const moved = await deliver(t, {
      options: { directories: { data: 'html', state: 'sync-state' } },
      destination: '.',
    });
    const get = await serve(t, moved.data);
    await moved.change();
    assert.equal((await get('index.html')).text, 'two');
    for (const name of ['.sync-agent', '.sync-agent/manifest.jsonl', 'sync-state/manifest.jsonl'])
      assert.equal((await get(name)).status, 404, name);

    const usual = await deliver(t, { destination: '.' });
    const open = await serve(t, usual.data);
    assert.equal((await open('.sync-agent/manifest.jsonl')).status, 200, 'without the block, it would be served');
    const blocked = await serve(t, usual.data, hidden);
    assert.equal((await blocked('.sync-agent/manifest.jsonl')).status, 404);
    assert.equal((await blocked('index.html')).status, 200);
  });
});
