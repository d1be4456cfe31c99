import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { parse } from 'yaml';
import { AgentMetrics } from '../../../agent/metrics.ts';
import { type GitServer, startGitServer } from '../../../scripts/testbed/git-server.ts';
import { resolveProfile } from '../../../shared/domain/resolve-profile.ts';
import { createSandbox } from './support/sandbox.ts';

const docs = path.join(import.meta.dirname, '../../../docs');

/** An example of docs/agent.md. */
interface Example {
  repository: Record<string, string>;
  profile: Parameters<typeof resolveProfile>[0]['profiles'][string];
  volume: Record<string, string>;
}

const text = await readFile(path.join(docs, 'agent.md'), 'utf8');
const blocks = [...text.matchAll(/^## (.+)$|^```yaml\n([\s\S]*?)^```$/gm)];
let server: GitServer;
before(async () => {
  server = await startGitServer();
});
after(() => server.stop());

suite('docs/agent.md', () => {
  let [heading, examples] = ['', 0];
  for (const [, title, yaml] of blocks) {
    heading = title ?? heading;
    const example = yaml === undefined ? undefined : (parse(yaml) as Partial<Example>);
    if (!example?.volume || !example.repository || !example.profile) continue;
    const { repository: files, profile, volume } = example;
    examples += 1;
    const name = `example-${examples}`;
    test(`${heading}: ${name}`, async (t) => {
      const repository = await server.createRepository(name);
      const sandbox = await createSandbox(t);
      const resolved = resolveProfile({ profiles: { default: profile } }, 'default');
      assert.ok(resolved);
      await sandbox.sync({ repo: repository.url, commit: await repository.commit({ files }), profile: resolved });
      assert.deepEqual(await sandbox.files(), Object.fromEntries(Object.entries(volume).sort()));
    });
  }

  test('has examples', () => assert.ok(examples >= 5));
});

test('docs/metrics.md names every metric of the agent, and no other', async () => {
  const metrics = await readFile(path.join(docs, 'metrics.md'), 'utf8');
  const documented = [...metrics.matchAll(/^\| `(sync_agent_\w+)`/gm)].map(([, name]) => name).sort();
  const registered = (await new AgentMetrics('1').registry.getMetricsAsJSON()).map(({ name }) => name).sort();
  assert.deepEqual(documented, registered);
});
