import { test } from 'node:test';
import { runFaults } from '../../scripts/faults/run.ts';

/** The long version is `npm run test:faults`; docs/contributing/faults.md lists the faults and the guarantees. */
const FAULTS = 25;
/** Each of the three waits in it can take four minutes on a busy machine. */
const limit = { timeout: 900_000 };

test(
  'no delivery is lost, half applied, or reported too early when programs and connections fail at random',
  limit,
  async (t) => {
    await runFaults({ seed: 1, faults: FAULTS, say: (line) => t.diagnostic(line) });
  },
);
