import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { byDepth } from '../../support/depth.ts';
import { everyStep, type Play } from '../../unit/agent/support/kill-at.ts';
import {
  COMMITS,
  type Commit,
  PATHS,
  STEPS,
  useKillScenario,
  VOLUMES,
} from '../../unit/agent/support/kill-scenario.ts';

/** Each step is followed by a second kill at every n-th step of the next sync, each time others. */
const STRIDE = byDepth(160, 80, 10);

const scenario = useKillScenario();

suite('the agent after an agent that was killed at any step', () => {
  for (const writeAt of PATHS) {
    test(`keeps all writes of the gateway to ${writeAt}`, async (t) => {
      await everyStep(t, STEPS, (step) => scenario().kill(t, { kill: { step }, next: commitOf(step), writeAt }));
    });
  }

  test('delivers the wanted tree despite a disk error at any step', async (t) => {
    await everyStep(t, STEPS, (step) => scenario().fail(t, { step, volume: {}, code: 'EIO' }));
  });

  for (const [name, volume] of Object.entries(VOLUMES)) {
    test(`recovers if it is killed itself at any step, on a volume ${name}`, async (t) => {
      let kills = 0;
      await everyStep(t, STEPS, async (step) => {
        for (let second = 1 + (step % STRIDE); ; second += STRIDE) {
          const ends: Play[] = [];
          const first = await scenario().kill(t, {
            kill: { step },
            volume,
            next: commitOf(step + second),
            again: { step: second, isTorn: step % 2 === 0 },
            onAgain: (end) => ends.push(end),
          });
          if (!ends[0]?.met) return first;
          kills += 1;
        }
      });
      t.diagnostic(`${kills} agents killed again`);
      assert.ok(kills >= STEPS.atLeast ** 2 / STRIDE, `only ${kills} were killed again`);
    });
  }
});

const commitOf = (number: number): Commit => COMMITS[number % COMMITS.length] ?? 'second';
