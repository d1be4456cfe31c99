import { parseArgs } from 'node:util';
import { runRollout } from './rollout/run-rollout.ts';
import { runEmbedded } from './run-embedded.ts';

const usage = `usage: npm run demo [-- [--rollout [--record FILE]] [--once]]

  --rollout  show the plan of a good commit for six gateways, which get it in waves, and a bad one that is rolled back
  --record   write what is shown to a file, as an animated SVG
  --once     show everything, then exit: with status 0 if everything was seen, else 1`;

try {
  const { values } = parseArgs({
    options: {
      once: { type: 'boolean', default: false },
      rollout: { type: 'boolean', default: false },
      record: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) console.log(usage);
  else {
    // Started programs end with this process.
    process.once('SIGINT', () => process.exit(130));
    await (values.rollout ? runRollout(values) : runEmbedded({ once: values.once }));
  }
  process.exit(0);
} catch (error) {
  if (/^ERR_PARSE_ARGS_/.test((error as NodeJS.ErrnoException).code ?? '')) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
