import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import type { InspectionView } from '../../../cli/fleet/inspection.ts';
import type { GitRepository } from '../../../scripts/testbed/git-repository.ts';
import { type GitServer, startGitServer } from '../../../scripts/testbed/git-server.ts';
import { makeTemporaryFolder } from '../../../scripts/testbed/temporary-folder.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { AGENT_LABEL, INSPECT_ANNOTATION } from '../../../shared/api/names.ts';
import { corePath, gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { connectCluster } from '../../support/cluster.ts';
import { type CliResult, runCli } from '../../support/run-cli.ts';
import { type GatewayPod, startSyncedPod } from '../agent/support/gateway-pod.ts';

const run = promisify(execFile);

let server: GitServer;
before(async () => {
  server = await startGitServer();
});
after(() => server.stop());

const FILES = {
  'config/a.txt': 'one\ntwo\nthree\n',
  'config/with a space.txt': 'no newline at the end',
  'config/ünï "quoted".txt': 'x\r\ny\n',
  'config/gone.txt': 'here\n',
  'config/run.sh': '#!/bin/sh\n',
  'config/picture.bin': 'a\0b',
  'config/server.key': 'not to be shown\n',
  'config/tls.txt': 'nothing yet\n',
  'config/kept.txt': 'same\n',
  'rendered/name.txt': 'I am {{ .GatewayName }}, {{ .Vars.colour }}\n',
};

/** With what somebody changes on the gateway left as it is. */
const spec = (fields: object = {}) => ({
  sync: {
    profiles: {
      default: {
        mappings: [
          { source: 'config', destination: 'etc' },
          { source: 'rendered', destination: 'rendered', template: true },
        ],
        vars: { colour: 'a-value-of-a-template' },
        drift: 'report',
        ...fields,
      },
    },
  },
});

interface World {
  repository: GitRepository;
  commit: string;
  pod: GatewayPod;
  gs: (...line: string[]) => Promise<CliResult>;
  write: (file: string, content: string | Buffer) => Promise<void>;
}

async function arrange(t: TestContext, name: string): Promise<World> {
  const repository = await server.createRepository(name);
  const commit = await repository.commit({ files: FILES });
  const { pod } = await startSyncedPod(t, { repo: repository.url, commit, spec: spec() });
  const labels = { [AGENT_LABEL]: 'true' };
  await pod.client.mergePatch(corePath('pods', pod.namespace, 'gateway-0'), { metadata: { labels } });
  const { kubeconfig } = await connectCluster();
  return {
    repository,
    commit,
    pod,
    gs: (...line) => runCli([...line, '-n', pod.namespace, '--kubeconfig', kubeconfig]),
    write: (file, content) => writeFile(path.join(pod.data, file), content),
  };
}

/** A clone with a work tree, in which a patch was applied. */
async function applyPatch(t: TestContext, { repository }: World, patch: string): Promise<string> {
  const folder = await makeTemporaryFolder('clone-');
  t.after(folder.remove);
  const clone = path.join(folder.path, 'clone');
  await run('git', ['clone', '--quiet', repository.path, clone]);
  const file = path.join(folder.path, 'a.patch');
  await writeFile(file, patch);
  await run('git', ['-C', clone, 'apply', '--whitespace=nowarn', file]);
  return clone;
}

const annotationOf = async ({ client, namespace }: GatewayPod) =>
  (await client.get<GatewaySync>(gatewaySyncPath(namespace, 'gw'))).metadata.annotations?.[INSPECT_ANNOTATION];

suite('kubectl gs drift', () => {
  test('prints a patch that makes a clone hold exactly what the gateway holds', async (t) => {
    const world = await arrange(t, 'drift');
    const { gs, write, pod, commit } = world;
    const clean = await gs('drift', 'gw');
    assert.deepEqual([clean.status, clean.notes], [0, '']);
    assert.equal(clean.output, `gateway-0: all files are as main (${commit.slice(0, 8)}) has them\n`);

    const changed = {
      'a.txt': 'zero\none\nTWO\r\nthree',
      'with a space.txt': 'no newline at the end\nnow there is one\n',
      'ünï "quoted".txt': 'x\r\n\ty\u00a0\n\n',
    };
    for (const [file, content] of Object.entries(changed)) await write(`etc/${file}`, content);
    await chmod(path.join(pod.data, 'etc/run.sh'), 0o755);
    await rm(path.join(pod.data, 'etc/gone.txt'));
    await write('etc/picture.bin', 'c\0d');
    await write('etc/server.key', 'a-secret-by-its-name');
    await write('etc/tls.txt', '-----BEGIN EC PRIVATE KEY-----\na-secret-by-its-content\n');
    await write('rendered/name.txt', 'I am a-template-that-changed\n');

    const { status, output: patch, notes } = await gs('drift', 'gw', '--patch');
    assert.equal(status, 1);
    for (const [file, why] of [
      ['config/gone.txt', 'missing on the gateway: --with-deleted deletes it'],
      ['config/picture.bin', 'binary'],
      ['config/server.key', 'looks like a secret'],
      ['config/tls.txt', 'looks like a secret'],
      ['rendered/name.txt', 'made of a template'],
    ]) {
      assert.ok(notes.includes(`not in the patch: ${file}: ${why} (gateway-0)\n`), notes);
    }
    assert.equal(notes.split('\n').length, 6, notes);
    for (const secret of [/a-secret/, /a-template/, /a-value/]) assert.doesNotMatch(patch, secret);

    const clone = await applyPatch(t, world, patch);
    for (const file of Object.keys(changed)) {
      const [there, here] = await Promise.all([
        readFile(path.join(clone, 'config', file)),
        readFile(path.join(pod.data, 'etc', file)),
      ]);
      assert.deepEqual(there, here, file);
    }
    const { stdout } = await run('git', ['-C', clone, '-c', 'core.quotePath=off', 'status', '--porcelain', '-z']);
    const touched = stdout
      .split('\0')
      .filter(Boolean)
      .map((line) => line.slice(3))
      .sort();
    assert.deepEqual(touched, [...Object.keys(changed), 'run.sh'].map((file) => `config/${file}`).sort());
    assert.equal(
      (await run('git', ['-C', clone, 'diff', '--summary'])).stdout,
      ' mode change 100644 => 100755 config/run.sh\n',
    );

    const deleted = await applyPatch(t, world, (await gs('drift', 'gw', '--patch', '--with-deleted')).output);
    await assert.rejects(readFile(path.join(deleted, 'config/gone.txt')), { code: 'ENOENT' });

    assert.equal(await annotationOf(pod), undefined);
    await pod.untilReport('no answer any more', ({ status }) => status?.inspection === undefined);
  });
});

suite('kubectl gs diff', () => {
  test('shows what a branch would change, and changes nothing', async (t) => {
    const { gs, repository, commit, pod, write } = await arrange(t, 'diff');
    await write('etc/own.txt', 'of the gateway');
    await repository.branch('other', commit);
    const other = await repository.commit({
      branch: 'other',
      files: {
        'config/a.txt': 'one\n2\nthree\n',
        'config/new.txt': 'new\n',
        'config/own.txt': 'of the branch',
        'config/gone.txt': null,
        'config/server.key': 'another-secret',
        'rendered/name.txt': 'You are {{ .GatewayName }}, {{ .Vars.colour }}\n',
      },
    });
    const [files, report] = [await pod.files(), await pod.report()];
    const { status, output, notes } = await gs('diff', 'gw', '--ref', 'other', '-o', 'json');
    assert.deepEqual([status, notes], [0, '']);
    const view = JSON.parse(output) as InspectionView;
    const [answer] = view.answers;
    assert.deepEqual([answer?.ref, answer?.commit, answer?.pod], ['other', other, 'gateway-0']);
    assert.deepEqual(
      answer?.changes.map(({ kind, path: file, reason, leftOut }) => [kind, file, reason, leftOut]).sort(),
      [
        ['add', 'etc/new.txt', 'New', undefined],
        ['delete', 'etc/gone.txt', 'NoLongerMapped', undefined],
        ['modify', 'etc/a.txt', 'ContentChanged', undefined],
        ['modify', 'etc/own.txt', 'TakenOver', 'not written by the agent'],
        ['modify', 'etc/server.key', 'ContentChanged', 'looks like a secret'],
        ['modify', 'rendered/name.txt', 'ContentChanged', 'made of a template'],
      ],
    );
    assert.match(
      answer?.changes.find(({ path: file }) => file === 'etc/a.txt')?.diff ?? '',
      /\n one\n-two\n\+2\n three\n/,
    );
    assert.doesNotMatch(output, /secret-|another-secret|a-value|of the gateway/);
    assert.deepEqual(await pod.files(), files);
    const later = await pod.untilReport('no answer any more', (each) => each.status?.inspection === undefined);
    assert.deepEqual(later.status, report.status);
    assert.equal(later.status?.commit, commit);
  });
});
