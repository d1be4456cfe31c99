import { after, before, suite, test } from 'node:test';
import { type GitDaemon, startGitDaemon } from '../../../scripts/testbed/git-daemon.ts';
import { everyKill } from '../../unit/agent/support/kill-at.ts';
import { COMMITS, KillScenario, VOLUMES } from '../../unit/agent/support/kill-scenario.ts';

const STEPS = { atLeast: 40, atMost: 300 };

let server: GitDaemon;
let scenario: KillScenario;
before(async () => {
  server = await startGitDaemon();
  scenario = await KillScenario.create(server, 'every-kill');
});
after(() => server.stop());

for (const [name, volume] of Object.entries(VOLUMES)) {
  suite(`on a volume ${name}, the agent after one that was killed at any step`, () => {
    for (const next of COMMITS) {
      test(`comes to exactly the tree of the ${next} commit`, async (t) => {
        await everyKill(t, STEPS, (kill) => scenario.kill(t, { kill, volume, next }));
      });
    }
  });
}
