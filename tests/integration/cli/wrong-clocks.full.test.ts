import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { clockSkewOf } from '../../../shared/domain/text/clock-skew.ts';
import { shareGitServer } from '../../support/git-server-for.ts';
import { arrange } from './inspected-gateway.ts';

const server = await shareGitServer();

suite('an agent with a wrong clock', { concurrency: 2 }, () => {
  for (const [minutes, words] of [
    [20, 'ahead'],
    [-20, 'behind'],
  ] as const)
    test(`still answers queries: 20 minutes ${words}`, async (t) => {
      const { stoker, commit, pod } = await arrange(t, server, `clock-${words}`, { nodeArgs: wrongClock(minutes) });
      for (const verb of ['drift', 'diff']) {
        const { status, output, notes } = await stoker(verb, 'gw');
        assert.deepEqual([status, notes], [0, ''], `${verb}: ${output}`);
        assert.match(output, new RegExp(`${commit.slice(0, 8)}`));
      }
      const skewMs = clockSkewOf(await pod.report()) ?? 0;
      assert.ok(Math.abs(skewMs - minutes * 60_000) < 10_000, `${skewMs}`);
    });
});

/** Flags of Node that set a program's clock off by a number of minutes: `performance.now()` and timers are unchanged. */
function wrongClock(minutes: number): string[] {
  const code = `
    const Right = Date;
    globalThis.Date = class Date extends Right {
      constructor(...given) { super(...(given.length > 0 ? given : [Date.now()])); }
      static now() { return Right.now() + ${minutes * 60_000}; }
    };`;
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}
