import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { type Rendered, render } from './support/render.ts';

const page = path.join(import.meta.dirname, '../../docs/reference/permissions.md');

interface Rule {
  apiGroups?: string[];
  resources?: string[];
  nonResourceURLs?: string[];
  resourceNames?: string[];
  verbs: string[];
}

/** Returns the rules of a role in the form of the page. */
const rowsOf = ({ metadata, rules = [] }: Rendered): string[] =>
  rules.map(({ apiGroups = [], resources = [], nonResourceURLs = [], resourceNames, verbs }: Rule) => {
    const names = apiGroups.flatMap((group) => resources.map((name) => (group ? `${name}.${group}` : name)));
    const targets = [...names, ...nonResourceURLs].map((name) => `\`${name}\``).join(', ');
    const only = resourceNames?.map((name) => ` (\`${name}\`)`).join('') ?? '';
    return `\`${metadata.name}\` | ${targets}${only} | ${verbs.join(', ')}`;
  });

test('the page on permissions lists every rule of the chart', async () => {
  const everything = {
    fullnameOverride: 'stoker-operator',
    certManager: { enabled: false },
    webhookReceiver: { enabled: true, hmac: { secret: 'key' } },
    githubApp: { enabled: true },
  };
  const rendered = (await render(everything)).filter(({ kind }) => /Role$/.test(kind)).flatMap(rowsOf);
  const documented = [...(await readFile(page, 'utf8')).matchAll(/^\| (`\S+`)(?: †)?( \| .+? \| .+?) \| .+ \|$/gm)].map(
    ([, role = '', rest = '']) => role + rest,
  );
  assert.deepEqual(documented.sort(), rendered.sort());
});
