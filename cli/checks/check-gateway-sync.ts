import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { RequestOutcome } from '../../shared/api/gateway-sync-status.ts';
import { REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import { isAcceptedRepository } from '../../shared/domain/git/delivered-repository.ts';
import { isObserved } from '../../shared/domain/kubernetes/is-observed.ts';
import { requestIn } from '../../shared/domain/kubernetes/recorded-request.ts';
import { checkConditions } from './check-conditions.ts';
import { checkSecrets } from './check-secrets.ts';
import { type Findings, failed, ok, warning } from './finding.ts';
import { componentsOf } from './installation.ts';
import type { NamespaceSurvey, Survey } from './survey.ts';

/** Maximum time for a running controller to reconcile a new resource (ms). */
const RECONCILED_WITHIN_MS = 60_000;
const CONDITIONS = 'reference/conditions.md';
const REQUESTS = 'explanation/requests.md';

/** Checks one GatewaySync: its conditions, its Secrets, and the outcome of the last webhook. */
export function checkGatewaySync(gatewaySync: GatewaySync, namespace: NamespaceSurvey, survey: Survey): Findings {
  return [
    checkSeen(gatewaySync, survey.now),
    checkConditions(gatewaySync),
    checkSecrets(gatewaySync, namespace),
    checkRest(gatewaySync),
    checkSources(gatewaySync, survey),
    checkIntents(gatewaySync, survey.now),
    checkRollout(gatewaySync),
  ];
}

function checkSeen({ metadata, status }: GatewaySync, now: number): Findings {
  const check = 'gatewaysync/seen';
  const todo = 'check above that a controller leads and watches this namespace, then see its log';
  const isNew = now - Date.parse(metadata.creationTimestamp) < RECONCILED_WITHIN_MS;
  const level = isNew ? warning : failed;
  if (!isObserved(status)) return level(check, 'no controller has reconciled it yet', { todo, page: CONDITIONS });
  if (status?.observedGeneration === metadata.generation) return [];
  const says = `the latest change is not reconciled: observed generation ${status?.observedGeneration} of ${metadata.generation}`;
  return warning(check, says, { todo: `wait; if it persists, ${todo}`, page: CONDITIONS });
}

/** Checks for pauses and dry runs. */
function checkRest({ spec, status }: GatewaySync): Findings {
  const page = CONDITIONS;
  const { defaults, profiles } = spec.sync;
  const isSaid = status?.conditions?.some(({ reason }) => reason === 'Paused') ?? false;
  const resting = (key: 'paused' | 'dryRun') =>
    Object.entries(profiles).flatMap(([name, profile]) => ((profile[key] ?? defaults[key]) ? [name] : []));
  const paused = resting('paused');
  const dry = resting('dryRun');
  return [
    spec.paused && !isSaid
      ? warning('gatewaysync/paused', 'paused: nothing changes', { todo: 'kubectl stoker resume', page })
      : [],
    paused.length > 0
      ? warning('gatewaysync/paused-profile', `paused profiles: ${paused.join(', ')}`, {
          todo: 'remove paused from them in spec.sync',
          page,
        })
      : [],
    dry.length > 0
      ? warning('gatewaysync/dry-run', `profiles in a dry run: ${dry.join(', ')}`, {
          todo: 'remove dryRun from them in spec.sync',
          page,
        })
      : [],
  ];
}

function checkSources({ spec }: GatewaySync, { operator }: Survey): Findings {
  if (spec.polling.enabled || operator.deployments.kind === 'hidden' || operator.searched) return [];
  if (componentsOf(operator, 'receiver').length > 0) return [];
  return failed('gatewaysync/polling', 'changes are not detected: polling is off, and no receiver is installed', {
    todo: 'set spec.polling.enabled, or the chart value webhookReceiver.enabled',
    page: 'how-to/migrating-from-polling.md',
  });
}

type Unfinished = Exclude<RequestOutcome, 'Applied' | 'Superseded'>;

const OUTCOMES: Record<Unfinished, { words: string; todo: string; isFault: boolean }> = {
  Pending: { words: 'is pending', todo: 'wait: the git server does not have the ref yet', isFault: false },
  Ignored: { words: 'was ignored', todo: 'check which refs spec.webhook.allowedRefs accepts', isFault: false },
  Failed: {
    words: 'failed',
    todo: 'correct the commit, or request another ref: kubectl stoker sync NAME --ref REF',
    isFault: true,
  },
};

const FOREIGN = 'remove the webhook from that repository, or add the repository to spec.webhook.repositories';

/** Returns the remedy. The hub of a follower accepts repositories and requests, and the follower doesn't. */
function remedyOf(kind: 'request' | 'push', { outcome, repo }: Echo, { metadata, spec }: GatewaySync): string {
  const { webhook, git } = spec;
  const from = kind === 'request' ? webhook.from : undefined;
  if (repo !== undefined && !isAcceptedRepository(repo, { webhook, git }))
    return from ? `${FOREIGN} of ${from}` : FOREIGN;
  return OUTCOMES[outcome as Unfinished].todo.replace('NAME', webhook.from ?? metadata.name);
}

function checkIntents(gatewaySync: GatewaySync, now: number): Findings {
  const { lastRequest, lastPush } = gatewaySync.status ?? {};
  return [
    outcome('request', lastRequest, gatewaySync),
    outcome('push', lastPush, gatewaySync),
    checkUnhandled(gatewaySync, now),
  ];
}

type Echo = NonNullable<NonNullable<GatewaySync['status']>['lastPush']>;

function outcome(kind: 'request' | 'push', echo: Echo | undefined, gatewaySync: GatewaySync): Findings {
  if (!echo) return [];
  const check = `gatewaysync/${kind}`;
  const says = `the last ${kind}, for ${echo.ref},`;
  if (echo.outcome === 'Applied' || echo.outcome === 'Superseded')
    return ok(check, `${says} was ${echo.outcome.toLowerCase()}`);
  const message = echo.message ? `: ${echo.message}` : '';
  // A newer controller may use outcomes that this plugin doesn't have.
  if (!Object.hasOwn(OUTCOMES, echo.outcome))
    return warning(check, `${says} has the outcome ${echo.outcome}${message}`, {
      todo: 'use the plugin of the installed release',
      page: REQUESTS,
    });
  const { words, isFault } = OUTCOMES[echo.outcome];
  const make = isFault ? failed : warning;
  return make(check, `${says} ${words}${message}`, { todo: remedyOf(kind, echo, gatewaySync), page: REQUESTS });
}

/** Checks for a request in the annotations that isn't in the status yet. */
function checkUnhandled({ metadata, spec, status }: GatewaySync, now: number): Findings {
  const { id, at = '', ref } = requestIn(metadata.annotations) ?? {};
  const check = 'gatewaysync/request-unhandled';
  const { from } = spec.webhook;
  if (from !== undefined) {
    const { at: handledAt = metadata.creationTimestamp } = status?.lastRequest ?? {};
    if (ref === undefined || !(Date.parse(at) > Date.parse(handledAt))) return [];
    return warning(check, `the request for ${ref} is ignored, because spec.webhook.from is set`, {
      todo: `send requests to ${from}: kubectl stoker sync ${from} --ref REF`,
      page: 'how-to/one-webhook-for-many-resources.md',
    });
  }
  if (ref !== undefined && Number.isNaN(Date.parse(at)))
    return failed(
      check,
      `the request for ${ref} is ignored, because ${REQUEST_ANNOTATIONS.requestedAt} is not a time`,
      {
        todo: 'make the request with kubectl stoker sync, which sets both annotations',
        page: 'reference/annotations.md',
      },
    );
  const isHandled = id === undefined || status?.lastRequest?.id === id || Date.parse(at) > now - 5_000;
  if (isHandled) return [];
  return warning(check, `the controller has not handled the request ${id} for ${ref ?? 'no ref'}`, {
    todo: 'wait; if it persists, check above that a controller leads',
    page: REQUESTS,
  });
}

/** Checks for waits that the condition RolledOut doesn't include. */
function checkRollout({ status }: GatewaySync): Findings {
  const { waitsFor, message = '', nextCommit } = status?.rollout ?? {};
  if (waitsFor === 'Retry')
    return warning('rollout/retry', `a failed commit is not retried: ${message}`, {
      todo: 'run kubectl stoker retry, or push a correct commit',
      page: 'how-to/roll-back.md',
    });
  if (waitsFor === undefined || !nextCommit) return [];
  return warning('rollout/next', `a newer commit, ${nextCommit.slice(0, 8)}, waits for ${waitsFor.toLowerCase()}`, {
    todo: waitsFor === 'Approval' ? 'run kubectl stoker approve' : 'wait until the window opens',
    page: 'explanation/rollouts.md',
  });
}
