import { makeCommand } from '../command-support/command.ts';
import { carryOut, orderArgs } from '../command-support/order.ts';
import { effectOfPause, effectOfResume } from '../orders/pause.ts';

/** `kubectl stoker pause`: pauses a GatewaySync. */
export const pause = makeCommand({
  name: 'pause',
  summary: 'Pause a GatewaySync',
  details: [
    'Sets spec.paused. Gateways keep their files, no ref is resolved, and requests wait until kubectl stoker resume. A sync that is already moving files is completed first.',
    'Requires permission to patch GatewaySyncs, which the role edit includes.',
  ],
  examples: [{ line: 'pause plant -n gateways', does: 'Pause before you edit files on a gateway' }],
  args: orderArgs,
  run: ({ args, host }) =>
    carryOut({ args, host, effectOf: effectOfPause, next: { command: `resume ${args.name}`, does: 'ends the pause' } }),
});

/** `kubectl stoker resume`: ends a pause. */
export const resume = makeCommand({
  name: 'resume',
  summary: 'Resume a paused GatewaySync',
  details: [
    'Sets spec.paused to false. Requests made during the pause are handled, and gateways get the current commit of the ref.',
    'Profiles that are paused in spec.sync remain paused. Requires permission to patch GatewaySyncs, which the role edit includes.',
  ],
  examples: [{ line: 'resume plant -n gateways', does: 'Resume when you are done' }],
  args: orderArgs,
  run: ({ args, host }) => carryOut({ args, host, effectOf: effectOfResume }),
});
