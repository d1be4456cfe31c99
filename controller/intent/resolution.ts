import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { type TerminalError, TransientError } from '../../shared/errors.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { Intent, Target } from './choose-intent.ts';
import { judgeIntent, pendingEcho } from './judge-intent.ts';
import { type AdvertisedRefs, type ResolvedRef, resolveRef } from './resolve-ref.ts';

/** What a repository answered last; beside an error what it said before, if anything. */
export type Answer =
  | { kind: 'refs'; refs: AdvertisedRefs }
  | {
      kind: 'error';
      error: TransientError | TerminalError;
      lastGood: AdvertisedRefs | undefined;
      /** When it makes sense to ask again, in milliseconds from the query. */
      retryAfterMs: number;
    };

type Echo = Pick<GatewaySyncStatus, 'lastRequest' | 'lastPush'>;

/** What came of the attempt to find out which commit to follow. */
export type Resolution =
  | { kind: 'paused'; echo: Echo }
  | { kind: 'resolved'; target: Target; resolved: ResolvedRef; echo: Echo }
  | Failure;

/** Nothing new is known. */
interface Failure {
  kind: 'failed';
  reason: string;
  message: string;
  /** It goes away by itself. */
  transient: boolean;
  /** Time until the host is asked again, in milliseconds; undefined where that would change nothing. */
  retryAfterMs: number | undefined;
  echo: Echo;
  /** What is followed, where the host said it before it went away. */
  known: Known | undefined;
}

interface Known {
  target: Target;
  resolved: ResolvedRef;
}

/** Resolves the intent by what the repository answered; undefined stands for a paused resource. */
export function resolve(gatewaySync: ObservedGatewaySync, intent: Intent, answer: Answer | undefined): Resolution {
  if (!answer) return { kind: 'paused', echo: pendingEcho(intent, 'the resource is paused') };
  if (answer.kind === 'error') {
    const { reason, message } = answer.error;
    const transient = answer.error instanceof TransientError;
    const { retryAfterMs } = answer;
    const resolved = transient && answer.lastGood ? resolveRef(intent.fallback.ref, answer.lastGood) : undefined;
    const known = resolved && { target: intent.fallback, resolved };
    return { kind: 'failed', reason, message, transient, retryAfterMs, echo: pendingEcho(intent, message), known };
  }
  const { target, resolved, ...echo } = judgeIntent(gatewaySync, intent, answer.refs);
  if (resolved) return { kind: 'resolved', target, resolved, echo };
  return { kind: 'failed', ...noSuchRef(target), transient: false, retryAfterMs: undefined, echo, known: undefined };
}

function noSuchRef({ ref, source }: Target): { reason: string; message: string } {
  const advice =
    source === 'Spec'
      ? 'check spec.git.ref'
      : 'it was asked for by a webhook and is gone: edit spec.git.ref, or send another request';
  return { reason: 'RefNotFound', message: `the repository has no branch, tag or commit ${ref}: ${advice}` };
}
