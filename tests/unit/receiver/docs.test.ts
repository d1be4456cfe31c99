import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { Registry } from 'prom-client';
import { createMetrics } from '../../../receiver/metrics.ts';
import { IGNORED_REASONS, REFUSALS } from '../../../receiver/routes/outcome.ts';
import { documentedMetrics, registeredMetrics } from '../../support/documented-metrics.ts';

const docs = path.join(import.meta.dirname, '../../../docs');
const read = (page: string) => readFile(path.join(docs, page), 'utf8');

/** The sections of a page, by their headings. */
async function sectionsOf(page: string): Promise<Map<string, string>> {
  const sections = (await read(page)).split(/^## /m).slice(1);
  return new Map(sections.map((text) => [text.split('\n', 1)[0] ?? '', text]));
}

/** The words in the first column of tables, which are the reasons. */
const reasonsIn = (text: string) => [...text.matchAll(/^\| `([A-Za-z]+)` \|/gm)].map(([, reason]) => reason ?? '');

test('the troubleshooting page explains exactly the reasons in the code', async () => {
  const explained = reasonsIn(await read('how-to/troubleshooting-webhooks.md'));
  assert.deepEqual(explained.toSorted(), [...IGNORED_REASONS, ...Object.keys(REFUSALS)].toSorted());
});

test('the troubleshooting page lists each reason below its status', async () => {
  const sections = await sectionsOf('how-to/troubleshooting-webhooks.md');
  for (const [heading, text] of sections) {
    for (const reason of reasonsIn(text)) {
      const status = String(REFUSALS[reason as keyof typeof REFUSALS]?.status ?? 200);
      const isHere = heading.includes(status) || (heading.startsWith('5xx') && status.startsWith('5'));
      assert.ok(isHere, `${reason} (${status}) stands under '${heading}'`);
    }
  }
});

test('each page on a sender has the URL, a curl command, and a way to authenticate', async () => {
  const pages: string[] = [];
  for await (const page of glob('how-to/senders/*.md', { cwd: docs })) pages.push(page);
  assert.ok(pages.length >= 8);
  for (const page of pages.filter((name) => !name.endsWith('README.md'))) {
    const text = await read(page);
    for (const expected of ['/webhook/<namespace>/<name>', 'curl -i', 'application/json']) {
      assert.ok(text.includes(expected), `${page}: ${expected}`);
    }
    assert.match(text, /openssl dgst|Bearer \$TOKEN|--user "hook:\$TOKEN"/, page);
  }
});

test("the metrics page lists exactly the receiver's metrics", async () => {
  const metrics = createMetrics();
  metrics.watchQueue(() => 0);
  const registered = registeredMetrics('sync_receiver_', metrics.page as Registry);
  assert.deepEqual(await documentedMetrics('sync_receiver_'), registered);
});
