import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { parse } from 'yaml';
import manifest from '../../../package.json' with { type: 'json' };
import { PROGRAMS } from '../../../scripts/images/programs.ts';

const root = path.join(import.meta.dirname, '../../..');
const directory = path.join(root, '.github/workflows');

interface Job {
  needs?: string | string[];
  'timeout-minutes'?: number;
  permissions?: Record<string, string>;
  strategy?: { matrix: { program: string[] } };
  /** Another workflow that the job runs. */
  uses?: string;
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

test('a release passes all checks of a change before anything is published', async () => {
  const { jobs } = (await readWorkflow('release.yaml')).workflow;
  assert.equal(jobs.test?.uses, './.github/workflows/ci.yaml');
  assert.deepEqual(
    [jobs.images, jobs.chart, jobs.cli, jobs.release, jobs.npm, jobs.site].map((job) => job?.needs),
    ['test', 'images', 'chart', ['cli', 'docs'], 'release', 'release'],
  );
});

test('a release has all files and their checksums, whose signature the docs verify', async () => {
  const { jobs } = (await readWorkflow('release.yaml')).workflow;
  const commands = (jobs.release?.steps ?? []).map(({ run = '' }) => run).join('\n');
  assert.match(commands, /npm run release -- files\n.*cosign sign-blob .* files\/checksums\.txt\n/);
  assert.match(commands, /gh release create .* files\/\*\n/);
  const [, bundle = ''] = /--bundle files\/(\S+)/.exec(commands) ?? [];
  const page = await readFile(path.join(root, 'docs/how-to/hardening.md'), 'utf8');
  assert.ok(page.includes(`cosign verify-blob checksums.txt --bundle ${bundle} `), bundle);
});

test('a release builds every program for the registry in the chart', async () => {
  const { workflow } = await readWorkflow('images.yaml');
  assert.deepEqual(workflow.jobs.images?.strategy?.matrix.program, PROGRAMS);
  const values = parse(await readFile(path.join(root, 'chart/values.yaml'), 'utf8'));
  const repositories = [values.image, values.webhookReceiver.image, values.agentImage].map(
    ({ repository }) => repository,
  );
  assert.deepEqual(
    repositories,
    PROGRAMS.map((program) => `${workflow.env?.REGISTRY}/${program}`),
  );
});
