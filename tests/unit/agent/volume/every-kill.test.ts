import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { everyKill, everyStep, type Kill, type Play, STRIDE } from '../support/kill-at.ts';
import { COMMITS, PATHS, STEPS, useKillScenario, VOLUMES } from '../support/kill-scenario.ts';

const scenario = useKillScenario();

/** Takes the steps in sequence: the tests of all pairs cover their combinations. */
const inTurn = <T>(all: readonly T[], { step }: Kill): T => all[step % all.length] as T;

suite('an agent that starts after a kill at any step', () => {
  for (const [name, volume] of Object.entries(VOLUMES)) {
    test(`keeps data that the gateway wrote before it started, on a volume ${name}`, async (t) => {
      await everyKill(t, STEPS, (kill) =>
        scenario().kill(t, { kill, volume, next: inTurn(COMMITS, kill), writeAt: inTurn(PATHS, kill) }),
      );
    });
  }

  for (const [name, volume] of Object.entries(VOLUMES)) {
    test(`recovers even if it is killed itself, on a volume ${name}`, async (t) => {
      const again: Play[] = [];
      await everyStep(t, STEPS, async (step) => {
        const onAgain = (played: Play) => again.push(played);
        // No two consecutive steps are followed by the same one.
        const second = { step: 1 + ((step * 37) % 100), isTorn: step % 2 === 0 };
        return await scenario().kill(t, {
          kill: { step },
          volume,
          next: inTurn(COMMITS, { step }),
          again: second,
          onAgain,
        });
      });
      const kills = again.filter(({ met }) => met).length;
      t.diagnostic(`${kills} of them killed again`);
      assert.ok(kills >= STEPS.atLeast / STRIDE / 2, `only ${kills} were killed again`);
    });
  }
});

suite('an agent whose volume is full at any step', () => {
  for (const name of ['with hard links', 'without hard links'] as const) {
    test(`leaves one of the two trees, and the next sync delivers the desired one, on a volume ${name}`, async (t) => {
      await everyStep(t, STEPS, (step) => scenario().fail(t, { step, volume: VOLUMES[name] }));
    });
  }
});
