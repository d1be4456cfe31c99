import { parseArgs } from 'node:util';
import { runRollout } from './rollout/run-rollout.ts';
import { runEmbedded } from './run-embedded.ts';
import { runOnContext } from './run-on-context.ts';

const usage = `usage: npm run demo [-- --rollout | --context NAME] [--once]

  --rollout       show six gateways that get a good commit by waves, and a bad one that is taken back
  --once          show everything, then end: status 0 if all was seen, else 1
  --context NAME  use the cluster of this kubeconfig context instead of an embedded one`;

try {
  const { values } = parseArgs({
    options: {
      once: { type: 'boolean', default: false },
      rollout: { type: 'boolean', default: false },
      context: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) console.log(usage);
  else if (values.context === '')
    throw new Error('--context is empty: name a context of your kubeconfig, or leave it out');
  else if (values.context && values.rollout) throw new Error('--rollout needs the embedded cluster');
  else if (values.context) await runOnContext({ context: values.context, once: values.once });
  else {
    // What it started ends with the process.
    process.once('SIGINT', () => process.exit(130));
    await (values.rollout ? runRollout : runEmbedded)({ once: values.once });
  }
  process.exit(0);
} catch (error) {
  if ((error as Error).name === 'AbortError') process.exit(130);
  if (/^ERR_PARSE_ARGS_/.test((error as NodeJS.ErrnoException).code ?? '')) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}
