import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import { AgentMetrics } from '../../../../agent/metrics.ts';
import { Announcer } from '../../../../agent/report/announcer.ts';
import { intentOf } from '../../../support/intents.ts';

test('files that differ from a checkout are logged once for each commit', async () => {
  const lines: { commit: string; count: number; files: string[]; msg: string }[] = [];
  const log = pino(
    { level: 'warn' },
    new Writable({ write: (line, _, next) => next(void lines.push(JSON.parse(line))) }),
  );
  const announcer = new Announcer({ report: async () => {}, metrics: new AgentMetrics('0.0.0'), log });
  const plan = { changes: [], folders: { create: [], clear: [], prune: [] }, unchanged: 1, corrected: [] } as const;
  const whole = { ...plan, disowned: [], dropped: [], drift: [], isPartial: false } as never;
  const ignored = new Map([['run.bat', 'eol=crlf']]);
  const [first, second] = ['1', '2'].map((digit) => intentOf({ commit: digit.repeat(40) }));
  for (const intent of [first, first, second, first]) {
    assert.ok(intent);
    await announcer.announce({ kind: 'synced', intent, plan: whole, ignored, pointers: ['docs/p'] });
  }
  const said = lines.map(({ commit, count, files }) => `${commit[0]} ${count} ${files}`);
  assert.deepEqual(
    said,
    ['1', '2', '1'].flatMap((commit) => [`${commit} 1 run.bat (eol=crlf)`, `${commit} 1 docs/p`]),
  );
});
