import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { addressOf, gatewaysDo, keeperOf } from '../fleet/names.ts';
import { makeCommand } from './command.ts';
import { carryOut, orderArgs, type Plan } from './order.ts';

/** `kubectl gs pause`: nothing changes until somebody resumes it. */
export const pause = makeCommand({
  name: 'pause',
  summary: 'Leave all gateways of a GatewaySync as they are',
  details: [
    'Sets spec.paused. Gateways keep the files that they have, nothing is resolved, and requests wait until kubectl gs resume. A sync that is moving files ends first.',
    'It needs the right to patch GatewaySyncs, which the role edit has.',
  ],
  examples: [{ line: 'pause plant -n gateways', does: 'before somebody works on a gateway by hand' }],
  args: orderArgs,
  run: ({ args, host }) =>
    carryOut({ args, host, plan: planPause, next: { command: `resume ${args.name}`, does: 'lets it go on' } }),
});

function planPause(gatewaySync: GatewaySync): Plan {
  const address = addressOf(gatewaySync);
  if (gatewaySync.spec.paused) return { kind: 'done', says: `${address} is paused already.` };
  return {
    kind: 'change',
    says: `${address} pauses: ${gatewaysDo(gatewaySync, {
      one: 'keeps the files that it has',
      many: 'keep the files that they have',
      none: '',
    })}, and requests wait.${keeperOf(gatewaySync)}`,
    change: { spec: { paused: true } },
    about: [],
  };
}

/** `kubectl gs resume`: the end of a pause. */
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

function planResume(gatewaySync: GatewaySync): Plan {
  const address = addressOf(gatewaySync);
  if (!gatewaySync.spec.paused) return { kind: 'done', says: `${address} is not paused.` };
  const { spec, status } = gatewaySync;
  const ref = status?.target?.ref ?? spec.git.ref;
  return {
    kind: 'change',
    says: `${address} goes on: ${gatewaysDo(gatewaySync, {
      one: `gets what ${ref} is now`,
      many: `get what ${ref} is now`,
      none: ` yet, and follows ${ref}`,
    })}.${keeperOf(gatewaySync)}`,
    change: { spec: { paused: false } },
    about: [ref],
  };
}
