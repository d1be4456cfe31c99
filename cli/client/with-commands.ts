import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { shellWord } from '../../shared/domain/text/shell-quote.ts';

/** An annotation in a message, such as `set sync.io/retry-rollout: 3f2a…`. */
const ORDER = /(set )?(?:the annotation )?\b(sync\.io\/(?:rollback|retry-rollout))(?![\w-])(?:: ([\w./-]*\w))?/g;
/** The release to approve in a message. */
const APPROVAL = /\bapprove the SyncRelease [\w.-]*\w/g;

/** Replaces annotations and approvals in all messages of the controller, for every view, by the commands for them. */
export function withCommands(gatewaySync: GatewaySync): GatewaySync {
  const { metadata, status } = gatewaySync;
  if (!status) return gatewaySync;
  const { conditions, rollout, lastRequest, lastPush } = status;
  const reword = <T extends { message?: string | undefined }>(part: T): T =>
    part.message ? { ...part, message: inCommands(part.message, metadata.name) } : part;
  const reworded = {
    conditions: conditions?.map(reword),
    rollout: rollout && reword(rollout),
    lastRequest: lastRequest && reword(lastRequest),
    lastPush: lastPush && reword(lastPush),
  };
  return { ...gatewaySync, status: { ...status, ...withoutUndefined(reworded) } };
}

/** Replaces annotations and approvals in a message by the commands for them. */
export const inCommands = (message: string, name: string): string =>
  message
    .replace(APPROVAL, `run kubectl stoker approve ${name}`)
    .replace(ORDER, (_, isOrder: string | undefined, annotation: string, value: string | undefined) => {
      const command = commandFor(annotation, { name, value });
      return isOrder ? `run ${command}` : command;
    });

function commandFor(annotation: string, { name, value }: { name: string; value: string | undefined }): string {
  if (annotation === ROLLOUT_ANNOTATIONS.retry) return `kubectl stoker retry ${name}`;
  const to = value === undefined || value === 'previous' ? '' : ` --to ${shellWord(value)}`;
  return `kubectl stoker rollback ${name}${to}`;
}
