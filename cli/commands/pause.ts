import { planPause, planResume } from '../orders/pause.ts';
import { makeCommand } from './command.ts';
import { carryOut, orderArgs } from './order.ts';

/** `kubectl stoker pause`: nothing changes until somebody resumes it. */
export const pause = makeCommand({
  name: 'pause',
  summary: 'Leave all gateways of a GatewaySync as they are',
  details: [
    'Sets spec.paused. Gateways keep the files that they have, nothing is resolved, and requests wait until kubectl stoker resume. A sync that is moving files ends first.',
    'It needs the right to patch GatewaySyncs, which the role edit has.',
  ],
  examples: [{ line: 'pause plant -n gateways', does: 'before somebody works on a gateway by hand' }],
  args: orderArgs,
  run: ({ args, host }) =>
    carryOut({ args, host, plan: planPause, next: { command: `resume ${args.name}`, does: 'lets it go on' } }),
});

/** `kubectl stoker resume`: the end of a pause. */
export const resume = makeCommand({
  name: 'resume',
  summary: 'End a pause',
  details: [
    'Sets spec.paused to false. What was asked for meanwhile is handled, and gateways get the commit of the ref as it is now.',
    'A profile that is paused by itself stays so. It needs the right to patch GatewaySyncs, which the role edit has.',
  ],
  examples: [{ line: 'resume plant -n gateways', does: 'when the work is done' }],
  args: orderArgs,
  run: ({ args, host }) =>
    carryOut({ args, host, plan: planResume, next: { command: `status ${args.name}`, does: 'shows how far it is' } }),
});
