import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import * as v from 'valibot';
import { parseAllDocuments } from 'yaml';
import { gatewaySyncSpecSchema } from '../../../../shared/api/gateway-sync.ts';
import { slow } from '../../../support/depth.ts';
import { runCli } from '../../../support/run-cli.ts';
import { fromSecret, migrateText, podIn, podWith, REPO, specOf, variable } from './pods.ts';

const manifests = path.join(import.meta.dirname, 'manifests');
const expected = path.join(import.meta.dirname, 'expected');

/** Additional arguments by manifest. */
const OPTIONS: Record<string, string[]> = {
  'grafana.yaml': ['--repo', 'https://git.example.com/ops/dashboards.git', '--path', 'grafana/'],
};

suite('kubectl stoker migrate', () => {
  test('converts manifests as expected, each with a valid spec', slow, async () => {
    const files = await readdir(manifests);
    assert.deepEqual(files, await readdir(expected));
    assert.ok(files.length >= 3);
    for (const file of files) {
      const options = OPTIONS[file] ?? [];
      const { status, output, notes } = await runCli(['migrate', '--file', path.join(manifests, file), ...options]);
      assert.equal(status, 0, `${file}: ${notes}`);
      assert.equal(output, await readFile(path.join(expected, file), 'utf8'), file);
      v.parse(gatewaySyncSpecSchema, specOf(output));
    }
  });

  test('prints nothing of a manifest with a password, and explains how to create a Secret', async () => {
    const secret = 'hunter2';
    const containers: object[] = [
      { args: [REPO, '--username=bot', `--password=${secret}`] },
      { args: [REPO], env: [variable('GITSYNC_PASSWORD', secret)] },
      { args: [REPO], env: [variable('GIT_SYNC_PASSWORD', secret)], image: 'git-sync:v3.6.5' },
      { args: [`--repo=https://bot:${secret}@git.example.com/acme/site.git`] },
      { env: [variable('GITSYNC_PASSWORD', secret)], image: 'git-sync:v3.6.5' },
      { args: [REPO, `--github-app-private-key=${secret}`] },
      { args: [REPO, '--credential', `{"url":"https://git.example.com","username":"a","password":"${secret}"}`] },
    ];
    for (const container of containers) {
      const { status, output, notes } = await migrateText(podWith(container));
      assert.deepEqual([status, output], [1, ''], JSON.stringify(container));
      assert.match(notes, /^error: .*: Pod site: container sync: .*\(kubectl create secret generic/);
      assert.ok(!notes.includes(secret), notes);
    }
  });

  test("never reads a Secret in the manifest, and lists the objects that it doesn't print", async () => {
    const secret = JSON.stringify({ kind: 'Secret', metadata: { name: 'access' }, stringData: { pass: 'hunter2' } });
    const pod = podWith({ args: [REPO], env: [fromSecret('GITSYNC_PASSWORD')] });
    const { status, output, notes } = await migrateText(`${secret}\n---\n${pod}`);
    assert.equal(status, 0);
    assert.ok(!output.includes('hunter2') && !notes.includes('hunter2'));
    assert.match(notes, /: Secret access/);
    assert.deepEqual(specOf(output).git.auth, { token: { secretRef: { name: 'access', key: 'pass' } } });
  });

  test("leaves a container unchanged if it can't be converted, with the reason", async () => {
    const sidecarWith = (env: object) => podWith({ image: 'quay.io/kiwigrid/k8s-sidecar:1.30.3', env: [env] });
    const cases: [what: string, RegExp][] = [
      [podWith({ args: ['--repo=$(REPO)'] }), / \$\(REPO\),/],
      [podWith({ args: ['--repo=/srv/git/site.git'] }), / https:\/\//],
      [podWith({ args: [REPO, '--ref=main~3'] }), /"main~3" /],
      [podWith({ args: [REPO, '--link=.sync-agent/x'] }), / unchanged: [^:]*:/],
      [podWith({ args: [REPO, '--link={{ .Commit }}'] }), / unchanged: [^:]*:/],
      [podWith({ args: [REPO, '--link=../../etc'] }), /\betc\b/],
      [sidecarWith(variable('LABEL', 'dashboard')), / dashboard .*--repo URL/],
      [sidecarWith(variable('RESOURCE', 'both')), / Secrets\b/],
    ];
    for (const [manifest, words] of cases) {
      const { status, output, notes } = await migrateText(manifest);
      assert.deepEqual([status, output], [1, ''], notes);
      assert.match(notes, words);
      assert.match(notes, /^Pod site: container sync is unchanged: /);
    }
  });

  test('converts one repository of a pod, and leaves the others unchanged', async () => {
    const pod = JSON.parse(podWith({ args: [REPO] }));
    const [, sync] = pod.spec.containers;
    pod.spec.containers.push({ ...sync, name: 'theme', args: ['--repo=https://git.example.com/acme/theme'] });
    const { status, output, notes } = await migrateText(JSON.stringify(pod));
    assert.equal(status, 1);
    assert.match(notes, /container theme /);
    assert.match(output, /^# TODO: container theme .* volume html/m);
    assert.deepEqual(
      podIn(output)
        .spec.containers.map(({ name }) => name)
        .join(),
      'app,theme',
    );
  });

  test('reads options like git-sync: first the command line, then the variables of its version', async () => {
    const cases: [container: object, git: object, destination?: string][] = [
      [{ args: [REPO, '--ref', 'v1'], env: [variable('GITSYNC_REF', 'v2')] }, { ref: 'v1' }],
      [{ args: [REPO], env: [variable('GITSYNC_REF', 'v2'), variable('GIT_SYNC_BRANCH', '')] }, { ref: 'v2' }],
      [{ args: [REPO], env: [variable('GITSYNC_REF', 'v2'), variable('GIT_SYNC_BRANCH', 'old')] }, { ref: 'old' }],
      [{ args: [REPO, '--branch=a', '--rev=v9'] }, { ref: 'v9' }],
      [{ args: [REPO, '--link=live/now'] }, { ref: 'HEAD' }, 'live/now'],
      [{ args: ['--repo=https://git.example.com/acme/site/', '--dest', 'a'] }, { ref: 'HEAD' }, 'a'],
    ];
    for (const [container, git, destination = 'site.git'] of cases) {
      const { output, notes } = await migrateText(podWith(container));
      const spec = specOf(output);
      assert.partialDeepStrictEqual(spec.git, git, JSON.stringify(container) + notes);
      const mapping = { source: '.', destination, publish: 'atomic', links: 'keep' };
      assert.deepEqual(spec.sync.profiles, { default: { mappings: [mapping] } });
    }
  });

  test('lists every option that has no counterpart', async () => {
    const args = [
      ...[REPO, '--depth=5', '--error-file=e', '--sync-on-signal=HUP', '--git-config=a:b', '--git-gc=off'],
      ...['--exechook-command=/x --token hunter2', '--cookie-file', '--not-known=hunter2', '--sparse-checkout-file=/s'],
      ...['--webhook-url=https://hooks.example.com/T0/hunter2', '--sync-timeout=1s'],
    ];
    const { output } = await migrateText(podWith({ args }));
    const comments = output.split('\n').filter((line) => line.startsWith('#'));
    for (const arg of args.slice(1)) {
      const name = arg.split('=')[0] as string;
      const words = { '--webhook-url': 'hooks.example.com', '--sync-timeout': 'a sync was 1s' }[name] ?? name;
      assert.ok(comments.join('\n').includes(words), name);
    }
    assert.ok(!output.includes('hunter2'));
  });

  test('copies no control character into a comment or a terminal', async () => {
    const manifest = podWith({ args: [REPO, '--exechook-command=a\n- evil: \u001b[2J\u009b1m'] });
    const { output } = await migrateText(manifest);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
    assert.doesNotMatch(output, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]|^- evil/m);
    assert.equal(parseAllDocuments(output).length, 2);
  });

  test('reads YAML like kubectl', async () => {
    const fields = 'name: site, a: 0400, b: on, c: 22:30, d: 2026-01-02, e: ., f: 0.5';
    const { output } = await migrateText(podWith({ args: [REPO] }).replace('"name":"site"', fields));
    const { annotations: _, ...values } = podIn(output).metadata;
    assert.deepEqual(values, { name: 'site', a: 256, b: true, c: '22:30', d: '2026-01-02', e: '.', f: 0.5 });
  });

  test('reports the problem with an invalid argument or manifest', async () => {
    const cases: [string[], string, number, RegExp][] = [
      [['-f', '-'], 'kind: Service', 1, / git-sync, k8s-sidecar, .*gitRepo /],
      [['-f', '-'], '- a\n- b', 1, /Kubernetes object/],
      [['-f', '-'], 'kind: Pod\nspec: {}', 1, /^Pod .*: spec\.containers: /],
      [['-f', '-'], 'a: [', 1, /YAML/],
      [['-f', '/nowhere/x.yaml'], '', 1, /ENOENT/],
      [['-f', '-', '--path', 'x'], '', 64, /--ref .*--path .*--repo/],
      [[], '', 64, /file is missing/],
    ];
    for (const [line, text, status, words] of cases) {
      const result = await runCli(['migrate', ...line], { input: async () => text });
      assert.deepEqual([result.status, result.output], [status, ''], result.notes);
      assert.match(result.notes, words);
    }
  });
});
