import { suite, test } from 'node:test';
import { everyKill } from '../../unit/agent/support/kill-at.ts';
import { COMMITS, STEPS, useKillScenario, VOLUMES } from '../../unit/agent/support/kill-scenario.ts';

const scenario = useKillScenario();

for (const [name, volume] of Object.entries(VOLUMES)) {
  suite(`the agent on a volume ${name}, after an agent that was killed at any step,`, () => {
    for (const next of COMMITS) {
      test(`delivers exactly the tree of the ${next} commit`, async (t) => {
        await everyKill(t, STEPS, (kill) => scenario().kill(t, { kill, volume, next }));
      });
    }
  });
}
