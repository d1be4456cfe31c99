import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { shellWord } from '../../shared/domain/text/shell-quote.ts';

/** An annotation in a message, such as `set sync.io/approve: 3f2a…`, with a remark about it, such as `(now 91fd…)`. */
const ORDER =
  /(set )?(?:the annotation )?\b(sync\.io\/(?:approve|rollback|retry-rollout))(?![\w-])(?:: ([\w./-]*\w))?(?: \((?:now|remove) [^)]*\))?/g;

/** Replaces annotations in all messages of the controller, for every view, by the commands that set them. */
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

/** Replaces annotations in a message by the commands that set them. */
export const inCommands = (message: string, name: string): string =>
  message.replace(ORDER, (_, isOrder: string | undefined, annotation: string, value: string | undefined) => {
    const command = commandFor(annotation, { name, value });
    return isOrder ? `run ${command}` : command;
  });

function commandFor(annotation: string, { name, value }: { name: string; value: string | undefined }): string {
  if (annotation === ROLLOUT_ANNOTATIONS.approve) return `kubectl stoker approve ${name}`;
  if (annotation === ROLLOUT_ANNOTATIONS.retry) return `kubectl stoker retry ${name}`;
  const to = value === undefined || value === 'previous' ? '' : ` --to ${shellWord(value)}`;
  return `kubectl stoker rollback ${name}${to}`;
}
