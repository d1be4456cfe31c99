import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { createSecureContext } from 'node:tls';
import { parse as parseToml } from 'smol-toml';
import * as v from 'valibot';
import { parseAllDocuments } from 'yaml';
import { GatewayClient } from '../../agent/gateway/gateway-client.ts';
import { describeFailure } from '../../agent/report/describe-failure.ts';
import { failureEvent } from '../../controller/reconcile/events/status-transitions.ts';
import { readConfig } from '../../shared/config.ts';
import { checkSyntax } from '../../shared/domain/syntax/check-syntax.ts';
import { codedError } from '../support/coded-error.ts';
import { kubeconfigWith } from '../support/kubeconfig-with.ts';
import { runCli } from '../support/run-cli.ts';
import { startTcpServer } from '../support/tcp-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** The text of a library for the same mistake. */
function textOf(mistake: () => unknown): string {
  try {
    mistake();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('the library accepts it');
}

const wordsIn = (text: string): string[] => text.toLowerCase().match(/[a-z]+/g) ?? [];

/** Fails if a message repeats three words of a library, or phrases of the messages of Node and Valibot. */
function assertOwn(message: string, theirs = ''): void {
  const own = wordsIn(message).join(' ');
  const words = wordsIn(theirs);
  for (const at of words.keys()) {
    const phrase = words.slice(at, at + 3);
    if (phrase.length === 3) assert.ok(!own.includes(phrase.join(' ')), `${message}\n  repeats: ${theirs}`);
  }
  assert.doesNotMatch(message, /Invalid (type|key|format|value|length)|but received|no such file or|routines:/);
  assert.doesNotMatch(message, /Expected |Unexpected|illegal operation|undefined|\[object/);
}

const noteOf = async (line: string[], input = '') => {
  const { status, notes } = await runCli(line, { input: async () => input });
  assert.notEqual(status, 0);
  return notes;
};

suite('a message for users has no text of a library', () => {
  const yaml = ['a: [', 'a: b: c', '\ta: 1', 'a: !!int x\nb: *c', '%YAML x\n---\na: ]', 'a: *none', 'a: &x [*x]'];
  for (const text of yaml)
    test(`about the YAML ${JSON.stringify(text)} of a manifest and a kubeconfig`, async (t) => {
      const theirs = textOf(() => {
        const [document] = parseAllDocuments(text, { prettyErrors: false });
        if (document?.errors[0]) throw document.errors[0];
        JSON.stringify(document?.toJS());
      });
      assertOwn(await noteOf(['migrate', '-f', '-'], text), theirs);
      assertOwn(await noteOf(['check', '-f', '-', '.'], text), theirs);
      const file = path.join(await temporaryDirectory(t, 'kubeconfig-'), 'config');
      await writeFile(file, text);
      assertOwn(await noteOf(['status', '--kubeconfig', file]), theirs);
    });

  const json = ['{"a": 1,}', '{"a" 1}', '{"a": 1 "b"}', '"\n"', '"\\u12"', '"x', '1e', '{} {}', '01'];
  for (const text of json)
    test(`about the JSON ${JSON.stringify(text)} of a commit`, () => {
      const problem = checkSyntax(Buffer.from(text), 'json');
      assertOwn(
        problem?.what ?? '',
        textOf(() => JSON.parse(text)),
      );
      assert.ok(problem?.line);
    });

  const toml = [
    ...['a', 'a = 01', 'a = 0xZ', 'a = "\\q"', 'a = "\\uZ"', 'a = [1', 'a = {b = 1', '[[a]', 'a b = 1'],
    ...['a = 1\na.b = 2', 'a = 2021-13-40', 'a = "\u0001"', '[a]\n[a]', 'a = 1_', 'a = 1e'],
  ];
  for (const text of toml)
    test(`about the TOML ${JSON.stringify(text)} of a commit`, () => {
      const theirs = textOf(() => parseToml(text))
        .split('\n')[0]
        ?.replace(/^.*document: /, '');
      assertOwn(checkSyntax(Buffer.from(text), 'toml')?.what ?? assert.fail('accepted'), theirs);
    });

  test('about a manifest with a wrong structure', async () => {
    const pod = { kind: 'Pod', spec: { containers: [{ name: 'x', args: 'x', env: [{ value: 1 }] }] } };
    const theirs = textOf(() => v.parse(v.object({ args: v.nullish(v.array(v.string())) }), { args: 'x' }));
    assertOwn(await noteOf(['migrate', '-f', '-'], JSON.stringify(pod)), theirs);
    assertOwn(await noteOf(['migrate', '-f', '-'], JSON.stringify({ kind: 'Pod', spec: {} })));
    for (const spec of [
      {},
      { git: { repo: 7, ref: 'main' } },
      { git: 'x' },
      { git: { ref: 'x'.repeat(9_999) } },
      null,
    ]) {
      const manifest = { apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', metadata: { name: 'gw' }, spec };
      const notes = await noteOf(['check', '-f', '-', '.'], JSON.stringify(manifest));
      assertOwn(notes);
      assert.match(notes, /spec/);
    }
  });

  test('about a kubeconfig with a wrong structure', async (t) => {
    const user = { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 7 } };
    for (const [cluster, wrong, field] of [
      [{ server: 7 }, {}, 'server'],
      [{ server: 'https://x' }, { token: [] }, 'token'],
      [{ server: 'https://x' }, user, 'exec.command'],
      ['x', {}, 'cluster'],
    ] as [object, object, string][]) {
      const notes = await noteOf(['status', '--kubeconfig', await kubeconfigWith(t, cluster, wrong)]);
      assertOwn(notes);
      assert.ok(notes.includes(field), notes);
    }
    const file = path.join(await temporaryDirectory(t, 'kubeconfig-'), 'config');
    for (const text of ['x', '[]', 'users: x', 'users: [{}]', 'current-context: []']) {
      await writeFile(file, text);
      assertOwn(await noteOf(['status', '--kubeconfig', file]));
    }
  });

  test('about an environment variable', () => {
    const schema = v.object({ A: v.string(), B: v.picklist(['x', 'y']), C: v.pipe(v.string(), v.minLength(3)) });
    for (const given of [{}, { B: 'z' }, { C: '1' }]) assertOwn(textOf(() => readConfig(schema, given)));
  });
});

/** Starts a program that speaks neither HTTP nor TLS, and returns its port. */
const startOtherProgram = (t: TestContext) => startTcpServer(t, (socket) => socket.end('garbage\r\n\r\n'));

suite('a message for users has the code of a cause instead of its text', () => {
  const matches = (message: string, code: string) => {
    assertOwn(message);
    assert.match(message, new RegExp(`\\b${code}\\b`));
  };

  test('if a file cannot be read', async (t) => {
    const directory = await temporaryDirectory(t, 'files-');
    for (const [file, code] of [
      [path.join(directory, 'none'), 'ENOENT'],
      [directory, 'EISDIR'],
      [`/${'x'.repeat(300)}`, 'ENAMETOOLONG'],
    ] as const) {
      matches(await noteOf(['migrate', '-f', file]), code);
      matches(await noteOf(['check', '-f', file, '.']), code);
      matches(await noteOf(['status', '--kubeconfig', file]), code);
      const user = { 'client-certificate': file, 'client-key': file };
      matches(await noteOf(['status', '--kubeconfig', await kubeconfigWith(t, { server: 'https://x' }, user)]), code);
      const cluster = { server: 'https://127.0.0.1:1', 'certificate-authority': file };
      matches(await noteOf(['status', '--kubeconfig', await kubeconfigWith(t, cluster, {})]), code);
    }
  });

  test('if the checkout cannot be read', async (t) => {
    const directory = await temporaryDirectory(t, 'files-');
    const spec = {
      git: { repo: 'https://git.example/x', ref: 'main' },
      gateway: { port: 8080 },
      sync: { profiles: { all: { mappings: [{ source: '.', destination: '.' }] } } },
    };
    const manifest = { apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', metadata: { name: 'gw' }, spec };
    const text = JSON.stringify(manifest);
    const notes = await noteOf(['check', '-f', '-', directory], text);
    const theirs = spawnSync('git', ['-C', directory, 'ls-files'], { encoding: 'utf8' }).stderr.trim();
    assert.notEqual(theirs, '');
    assert.ok(notes.includes(directory) && !notes.includes(theirs), notes);
  });

  test('if the API server cannot be reached, or is another program', async (t) => {
    const port = await startOtherProgram(t);
    const rows: [server: string, user: object, code: string][] = [
      [`http://127.0.0.1:${port}`, {}, 'HPE_INVALID_CONSTANT'],
      [`https://127.0.0.1:${port}`, {}, 'ERR_SSL_[A-Z_]+|EPROTO'],
      ['http://127.0.0.1:1', {}, 'ECONNREFUSED'],
    ];
    for (const [address, user, code] of rows)
      matches(await noteOf(['status', '--kubeconfig', await kubeconfigWith(t, { server: address }, user)]), code);
  });

  test('if a certificate or key of the kubeconfig is damaged', async (t) => {
    const damaged = Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n').toString('base64');
    const theirs = textOf(() => createSecureContext({ cert: Buffer.from(damaged, 'base64') }));
    const user = { 'client-certificate-data': damaged, 'client-key-data': damaged };
    const file = await kubeconfigWith(t, { server: 'https://127.0.0.1:1' }, user);
    const notes = await noteOf(['status', '--kubeconfig', file]);
    assertOwn(notes, theirs);
    assert.match(notes, /ERR_OSSL/);
  });

  test('if a credential plugin cannot be run', async (t) => {
    const directory = await temporaryDirectory(t, 'plugin-');
    await writeFile(path.join(directory, 'login'), '');
    await chmod(path.join(directory, 'login'), 0o644);
    await mkdir(path.join(directory, 'directory'));
    for (const name of ['login', 'directory']) {
      const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: path.join(directory, name), args: [] };
      const user = { exec: { ...exec, interactiveMode: 'Never' } };
      matches(
        await noteOf(['status', '--kubeconfig', await kubeconfigWith(t, { server: 'https://x' }, user)]),
        'EACCES',
      );
    }
  });

  test('if the gateway is another program', async (t) => {
    const port = await startOtherProgram(t);
    for (const tls of [false, true]) {
      const client = new GatewayClient({ port, tls, apiKeyFile: undefined });
      const error = await client.send({ method: 'GET', path: '/' }).catch((error: Error) => error);
      matches((error as Error).message, tls ? 'EPROTO|ERR_SSL_[A-Z_]+' : 'HPE_INVALID_CONSTANT');
    }
  });

  for (const code of ['ECONNREFUSED', 'ERR_SSL_ANY', 'ERR_UNKNOWN', 'EMFILE'])
    test(`if a sync or a reconcile fails with ${code}`, () => {
      const error = codedError(code, `${code}: words of the system`);
      for (const message of [
        describeFailure(error).message,
        failureEvent(5, error)?.message ?? '',
        describeFailure(new TypeError('words of the system')).message,
        failureEvent(5, new TypeError('words of the system'))?.message ?? '',
      ]) {
        assert.doesNotMatch(message, /words of the system/);
        assert.match(message, new RegExp(`${code}|TypeError`));
      }
    });
});
