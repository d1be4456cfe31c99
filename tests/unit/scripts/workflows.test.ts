import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import manifest from '../../../package.json' with { type: 'json' };
import { PROGRAMS } from '../../../scripts/images/programs.ts';
import { git } from '../../../scripts/testbed/git-command.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const root = path.join(import.meta.dirname, '../../..');
const directory = path.join(root, '.github/workflows');

interface Job {
  needs?: string | string[];
  'timeout-minutes'?: number;
  permissions?: Record<string, string>;
  environment?: string | { name: string };
  strategy?: { matrix: { program: string[] } };
  /** Another workflow that the job runs. */
  uses?: string;
  with?: Record<string, string>;
  steps?: { uses?: string; run?: string; with?: Record<string, unknown>; env?: Record<string, string> }[];
}

interface Workflow {
  permissions: object;
  concurrency: object;
  env?: Record<string, string>;
  jobs: Record<string, Job>;
}

const readWorkflow = async (file: string) => {
  const source = await readFile(path.join(directory, file), 'utf8');
  return { source, workflow: parse(source) as Workflow };
};

const MAY_WRITE: Record<string, string[]> = {
  'images.yaml': ['packages', 'id-token'],
  'rebuild.yaml': ['packages', 'id-token'],
  'release.yaml': ['packages', 'id-token', 'contents', 'pages'],
  'security.yaml': ['security-events', 'id-token'],
  'site.yaml': ['pages', 'id-token'],
};

for (const file of await readdir(directory)) {
  suite(`the workflow ${file}`, async () => {
    const { source, workflow } = await readWorkflow(file);
    const steps = Object.values(workflow.jobs).flatMap((job) => job.steps ?? []);
    const commands = steps.flatMap(({ run }) => run ?? []);

    test('grants each job only the permissions that it needs, and none by default', () => {
      assert.deepEqual(workflow.permissions, {});
      assert.ok(workflow.concurrency);
      for (const [name, job] of Object.entries(workflow.jobs)) {
        assert.ok(job.permissions && (job.uses || job['timeout-minutes']), name);
        for (const [scope, access] of Object.entries(job.permissions)) {
          assert.ok(access === 'read' || MAY_WRITE[file]?.includes(scope), `${name}: ${scope}: ${access}`);
        }
      }
    });

    test('pins every action to a commit, with its version in a comment', () => {
      for (const [, action] of source.matchAll(/^ *(?:- )?uses: (.*)$/gm)) {
        if (action?.startsWith('./') && existsSync(path.join(root, action))) continue;
        assert.match(action ?? '', /^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
      }
      for (const { uses, with: given } of steps) {
        if (uses?.startsWith('actions/checkout@')) assert.equal(given?.['persist-credentials'], false);
      }
    });

    test('has no expression in a shell script, which would allow command injection', () => {
      for (const command of commands) assert.doesNotMatch(command, /\$\{\{/);
    });

    test('runs only scripts and reads only files that exist', () => {
      const scripts = commands.flatMap((run) => [...run.matchAll(/npm run (?:--silent )?([\w:-]+)/g)]);
      for (const [, name = ''] of scripts) assert.ok(name in manifest.scripts, name);
      const files = source.matchAll(/hashFiles\('([^']+)'\)|node-version-file: (\S+)|(?<= )((?:\.ci|scripts)\/\S+)/g);
      for (const [, ...named] of files) {
        const file = named.find((name) => name !== undefined) ?? '';
        assert.ok(existsSync(path.join(root, file)), file);
      }
    });
  });
}

const names = (await readdir(directory)).filter((file) => file !== 'security.yaml');
const publishing = (await Promise.all(names.map(readWorkflow))).flatMap(({ workflow }) =>
  Object.entries(workflow.jobs).filter(([, { steps, permissions = {} }]) => steps && mayPublish(permissions)),
);

/** Whether a job can change what users get, or sign for the project. */
function mayPublish(permissions: Record<string, string>): boolean {
  return Object.values(permissions).includes('write');
}

test('jobs that publish or sign have a protected environment, and run no code of the repository', () => {
  assert.ok(publishing.length >= 4);
  for (const [name, { environment, steps = [] }] of publishing) {
    assert.ok(environment, name);
    const commands = steps.map(({ run = '' }) => run).join('\n');
    assert.doesNotMatch(commands, /\b(npm (ci|install|run|exec)|npx|node|make)\b|scripts\/|\.\//, name);
    assert.ok(!steps.some(({ uses = '' }) => /^(\.\/|docker\/(build|setup))/.test(uses)), name);
  }
});

test('images that a workflow runs are pinned by digest', async () => {
  const { source, workflow } = await readWorkflow('images.yaml');
  const used = (workflow.jobs.build?.steps ?? []).flatMap(({ uses = '', with: given = {} }) => {
    if (uses.startsWith('docker/setup-qemu-action@')) return String(given.image);
    if (uses.startsWith('docker/setup-buildx-action@')) return String(given['driver-opts']);
    return 'sbom' in given ? String(given.sbom) : [];
  });
  assert.equal(used.length, 3);
  for (const image of used)
    assert.match(image, /^((image|generator)=)?docker\.io\/[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
  const { customManagers } = JSON.parse(await readFile(path.join(root, 'renovate.json'), 'utf8'));
  const updated = [...source.matchAll(new RegExp(customManagers[0].matchStrings[0], 'g'))];
  assert.equal(updated.length, used.length, 'Renovate finds them');
});

test('updates of transitive packages wait as long as others', async () => {
  const { minimumReleaseAge, lockFileMaintenance } = JSON.parse(
    await readFile(path.join(root, 'renovate.json'), 'utf8'),
  );
  assert.match(minimumReleaseAge, /^[1-9]\d* days$/);
  // Renovate applies no minimum age to the maintenance of lock files.
  assert.equal(lockFileMaintenance?.enabled ?? false, false);
});

test('each pattern of CODEOWNERS matches a file', async () => {
  const files = (await git(root, ['ls-files'])).split('\n');
  const lines = (await readFile(path.join(root, '.github/CODEOWNERS'), 'utf8')).split('\n');
  const patterns = lines.filter((line) => /^[^#\s]/.test(line)).map((line) => line.split(/\s+/)[0] ?? '');
  assert.equal(patterns[0], '*');
  for (const pattern of patterns.slice(1)) {
    const [, place = '', isDirectory] = /^\/(.+?)(\/?)$/.exec(pattern) ?? [];
    assert.ok(
      files.some((file) => (isDirectory ? file.startsWith(`${place}/`) : file === place)),
      pattern,
    );
  }
});

suite('the commit of a release', async () => {
  const { workflow } = await readWorkflow('verify.yaml');
  const [checkout, verify] = workflow.jobs.verify?.steps ?? [];
  const hasName = (value: unknown) => /inputs\.tag|ref_name|outputs\.tag/.test(String(value));

  test('is what all jobs check out after the verification', async () => {
    assert.match(String(checkout?.with?.ref), /^refs\/tags\/\$\{\{ inputs\.tag \}\}$/);
    for (const file of ['images.yaml', 'release.yaml', 'rebuild.yaml']) {
      const { jobs } = (await readWorkflow(file)).workflow;
      for (const { steps = [] } of Object.values(jobs))
        for (const { uses = '', with: given } of steps)
          assert.ok(!uses.startsWith('actions/checkout@') || !hasName(given?.ref), file);
    }
    const { jobs } = (await readWorkflow('images.yaml')).workflow;
    const source = jobs.build?.steps?.find(({ uses = '' }) => uses.startsWith('actions/checkout@'));
    assert.match(String(source?.with?.ref), /^\$\{\{ inputs\.commit \}\}$/);
    for (const file of ['release.yaml', 'rebuild.yaml']) {
      const { images } = (await readWorkflow(file)).workflow.jobs;
      assert.match(images?.with?.commit ?? '', /^\$\{\{ needs\.verify\.outputs\.commit \}\}$/, file);
    }
  });

  /** Runs the script of the workflow in a clone, as actions/checkout makes it with all branches and tags. */
  async function run(repository: string, environment: Record<string, string>): Promise<string | undefined> {
    const output = path.join(repository, '.git/output');
    await rm(output, { force: true });
    const env = { ...process.env, EXPECTED: '', GITHUB_OUTPUT: output, ...environment };
    const ran = runCommand('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', verify?.run ?? ''], {
      cwd: repository,
      env,
    });
    return await ran.then(
      async () => /^commit=(.*)$/m.exec(await readFile(output, 'utf8'))?.[1],
      () => undefined,
    );
  }

  test('is the one of the tag, even if a branch has the same name, and a part of main', async (t) => {
    const origin = await temporaryDirectory(t, 'origin-');
    const commit = async (file: string) => {
      await writeFile(path.join(origin, file), file);
      await git(origin, ['add', '.']);
      await git(origin, ['commit', '--quiet', `--message=${file}`]);
      return (await git(origin, ['rev-parse', 'HEAD'])).trim();
    };
    await git(origin, ['init', '--quiet', '--initial-branch=main']);
    const released = await commit('released');
    await git(origin, ['tag', 'v1.0.0']);
    await git(origin, ['tag', '--annotate', '--message=x', 'v1.0.1']);
    await commit('newer');
    await git(origin, ['checkout', '--quiet', '-b', 'v1.0.0']);
    const foreign = await commit('foreign');
    await git(origin, ['tag', 'v2.0.0']);
    await git(origin, ['checkout', '--quiet', '-b', 'v3.0.0']);

    const clone = path.join(await temporaryDirectory(t, 'clone-'), 'clone');
    await git(path.dirname(clone), ['clone', '--quiet', origin, clone]);
    assert.equal(await run(clone, { TAG: 'v1.0.0' }), released);
    assert.equal(await run(clone, { TAG: 'v1.0.1' }), released, 'an annotated tag');
    assert.equal(await run(clone, { TAG: 'v1.0.0', EXPECTED: released }), released);
    assert.equal(await run(clone, { TAG: 'v1.0.0', EXPECTED: foreign }), undefined, 'a tag that was moved');
    assert.equal(await run(clone, { TAG: 'v2.0.0' }), undefined, 'a commit outside of main');
    assert.equal(await run(clone, { TAG: 'v3.0.0' }), undefined, 'a branch without a tag');
  });
});

test('a release publishes a file to npm, and not the repository on GitHub that npm reads from a path such as cli/x', async () => {
  const { workflow } = await readWorkflow('release.yaml');
  const commands = Object.values(workflow.jobs).flatMap(({ steps = [] }) => steps.flatMap(({ run }) => run ?? []));
  const published = commands.flatMap((command) => command.match(/npm publish \S+/g) ?? []);
  assert.equal(published.length, 1);
  assert.match(published.join(), /^npm publish file:cli\/kubectl-stoker-/);
});

test('a release builds every program for the registry in the chart', async () => {
  const { workflow } = await readWorkflow('images.yaml');
  for (const job of [workflow.jobs.build, workflow.jobs.publish])
    assert.deepEqual(job?.strategy?.matrix.program, PROGRAMS);
  const values = parse(await readFile(path.join(root, 'chart/values.yaml'), 'utf8'));
  const repositories = [values.image, values.webhookReceiver.image, values.agentImage].map(
    ({ repository }) => repository,
  );
  assert.deepEqual(
    repositories,
    PROGRAMS.map((program) => `${workflow.env?.REGISTRY}/${program}`),
  );
});
