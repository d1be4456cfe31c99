import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { Registry } from 'prom-client';
import { createMetrics } from '../../../receiver/metrics.ts';
import { IGNORED_REASONS, REFUSALS } from '../../../receiver/outcome.ts';
import { documentedMetrics, registeredMetrics } from '../../support/documented-metrics.ts';

const docs = path.join(import.meta.dirname, '../../../docs');
const read = (page: string) => readFile(path.join(docs, page), 'utf8');

/** The words in the first column of tables, which are the reasons. */
const reasonsIn = (text: string) => [...text.matchAll(/^\| `([A-Za-z]+)` \|/gm)].map(([, reason]) => reason ?? '');

/** The reasons in the code, below the status that each of them has. */
test('the troubleshooting page explains exactly the reasons in the code, below their status', async () => {
  const sections = (await read('how-to/troubleshooting-webhooks.md')).split(/^## /m).slice(1);
  const statusOf = (reason: string) => String(REFUSALS[reason as keyof typeof REFUSALS]?.status ?? 200);
  for (const section of sections) {
    const [heading = ''] = section.split('\n', 1);
    const isBelow = (status: string) => heading.includes(status.startsWith('5') ? '5' : status);
    for (const reason of reasonsIn(section)) assert.ok(isBelow(statusOf(reason)), `${reason} below ${heading}`);
  }
  assert.deepEqual(sections.flatMap(reasonsIn).toSorted(), [...IGNORED_REASONS, ...Object.keys(REFUSALS)].toSorted());
});

test("the metrics page lists exactly the receiver's metrics", async () => {
  const metrics = createMetrics();
  metrics.watchQueue(() => 0);
  const registered = registeredMetrics('sync_receiver_', metrics.page as Registry);
  assert.deepEqual(await documentedMetrics('sync_receiver_'), registered);
});
