import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { CallError } from '../../../scripts/testbed/call-api.ts';
import { apply, createNamespace, remove } from '../../support/cluster.ts';
import { gatewaySync } from '../../support/gateway-syncs.ts';
import { blocksOf, readPages } from '../../support/markdown.ts';
import { until } from '../../support/until.ts';

const page = (await readPages()).find(({ file }) => file === 'docs/how-to/restrict-repositories.md')!;
// biome-ignore lint/suspicious/noExplicitAny: objects of the page
const objects: any[] = blocksOf(page).flatMap(({ language, code }) =>
  language === 'yaml' ? parseAllDocuments(code).map((document) => document.toJS()) : [],
);
const [policy] = objects;
/** The validations of the page's table, by what they are for. */
const table = [...page.text.matchAll(/^\| (.+?) \| `(.+)` \|$/gm)].map(([, purpose = '', expression = '']) => ({
  purpose,
  expression: expression.replaceAll('\\|', '|'),
}));
policy.spec.validations.push(...table.map(({ purpose, expression }) => ({ expression, message: purpose })));

const namespace = await createNamespace({ after }, { 'example.com/tenant': 'true' });
const prefix = `https://git.example.com/${namespace}/`;
const repo = `${prefix}site.git`;
const rollout = { waves: [{ name: 'all' }] };
const verify = { mode: 'head', keysSecretRef: { name: 'keys' } };
const ref = 'refs/heads/main';
const webhook = { allowedRefs: [ref] };

type Case = [git: object, spec: object, reason: RegExp];

/** Sends a GatewaySync without storing it, and returns the reason of a refusal. */
const verdictOf = (git: object, spec: object) =>
  apply(
    gatewaySync({ namespace, name: 'site' }, { repo, ref, verify, ...git } as { repo: string }, spec),
    '--dry-run',
  ).then(
    () => 'accepted',
    (error: unknown) => {
      if (error instanceof CallError && error.status === 422) return error.message;
      throw error;
    },
  );

test('the policy on repositories of the docs refuses what it should, and nothing else', async () => {
  after(() => remove(objects));
  await apply(objects);
  // A policy takes effect a moment after it is stored.
  await until(() => verdictOf({ repo: 'https://git.example.com/others/site.git' }, { rollout, webhook }), {
    describe: 'the policy to take effect',
    accept: (verdict) => verdict !== 'accepted',
  });

  const cases: Case[] = [
    [{}, { rollout, webhook }, /^accepted$/],
    ...[
      'site.git/../../others/site.git',
      '%2e%2e/others/site.git',
      '.%2E/others/site.git',
      '\\..\\..\\others/site.git',
      'x?a=/b',
    ].map((path): Case => [{ repo: `${prefix}${path}` }, { rollout, webhook }, /must not leave its path/]),
    [{}, { rollout }, /allowedRefs must name/],
    [{}, { rollout, webhook: { allowedRefs: [] } }, /allowedRefs must name/],
    [{ ref: 'v1' }, { rollout, webhook }, /allow one branch/],
    [{ ref: 'main' }, { rollout, webhook }, /allow one branch/],
    [{}, { rollout, webhook: { allowedRefs: ['main'] } }, /allow one branch/],
    [{}, { rollout, webhook: { allowedRefs: [ref, '**'] } }, /forbid a list that allows every ref/],
    [{ verify: { mode: 'none' } }, { rollout, webhook }, /require signed commits/],
    [{}, { webhook }, /require waves/],
    [{}, { webhook, rollout: {} }, /require waves/],
    [{ submodules: true }, { rollout, webhook }, /forbid submodules/],
  ];
  for (const [git, spec, reason] of cases) assert.match(await verdictOf(git, spec), reason);
  assert.equal(table.length, 5);
});
