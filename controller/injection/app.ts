import type { IncomingMessage, RequestListener } from 'node:http';
import { H3, type H3Event, type Middleware } from 'h3';
import { toNodeHandler } from 'h3/node';
import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { isBoundedJson } from '../../shared/domain/limits/is-bounded-json.ts';
import type { ReadBody } from '../../shared/io/http/read-body.ts';
import type { Logger } from '../../shared/log.ts';
import { asksForSidecar } from '../watch/observed-pod.ts';
import type { AdmittedPod } from './admitted-pod.ts';
import type { CandidateSource } from './candidates.ts';
import { type Injection, injectSidecar } from './inject-sidecar.ts';
import type { InjectionSettings } from './injection-settings.ts';
import { type Review, readReview, reviewResponse } from './review.ts';

export interface MutatePodOptions extends InjectionSettings {
  candidates: CandidateSource;
  readBody: ReadBody;
  log: Logger;
  /** Called for every review, for metrics. */
  onReview: (outcome: Injection['kind'] | 'invalid' | 'failed', seconds: number) => void;
}

/** Outcome of a request. */
type Outcome = { kind: 'reviewed'; uid: string; injection: Injection } | { kind: 'refused'; reason: RefusalReason };

/** Reasons for requests without a review, each with its HTTP status, a message, and the outcome in the metrics. */
const REFUSALS = {
  NotJson: { status: 415, error: 'the body must be application/json', counted: 'invalid' },
  BodyTooLarge: { status: 413, error: 'the review is too large', counted: 'invalid' },
  BodyNotRead: { status: 503, error: 'try again', counted: 'invalid' },
  InvalidReview: {
    status: 400,
    error: "the body isn't a valid AdmissionReview of admission.k8s.io/v1",
    counted: 'invalid',
  },
  Busy: { status: 503, error: 'try again', counted: 'failed' },
  NoSuchPath: { status: 404, error: 'no such path', counted: undefined },
  InternalError: { status: 500, error: 'internal error', counted: 'failed' },
} as const;

type RefusalReason = keyof typeof REFUSALS;

const refused = (reason: RefusalReason): Outcome => ({ kind: 'refused', reason });

/** The admission endpoint as a request listener: `POST /mutate-v1-pod` reviews the creation of a pod. */
export function createApp(options: MutatePodOptions): RequestListener {
  // `respond` creates every response, even to a malformed path.
  const app = new H3({ allowMalformedURL: true });
  app.use(respond(options));
  app.post('/mutate-v1-pod', (event) => review(options, event));
  app.all('/**', () => refused('NoSuchPath'));
  return toNodeHandler(app) as RequestListener;
}

/** Turns a route's outcome into a response and a metric. Errors result in `InternalError`. */
function respond({ log, onReview }: MutatePodOptions): Middleware {
  return async (event, next) => {
    const started = performance.now();
    let outcome: Outcome;
    try {
      outcome = (await next()) as Outcome;
    } catch (err) {
      log.error({ err }, 'admission review failed');
      outcome = refused('InternalError');
    }
    const { status, body, counted } = responseTo(outcome);
    if (counted) onReview(counted, (performance.now() - started) / 1000);
    event.res.status = status;
    event.res.headers.set('Content-Type', 'application/json');
    return JSON.stringify(body); // a web response would take a fifth of the time of a review
  };
}

function responseTo(outcome: Outcome) {
  if (outcome.kind === 'refused') {
    const { status, error, counted } = REFUSALS[outcome.reason];
    return { status, body: { error }, counted };
  }
  const { uid, injection } = outcome;
  return { status: 200, body: reviewResponse(uid, injection), counted: injection.kind };
}

async function review(options: MutatePodOptions, event: H3Event): Promise<Outcome> {
  const request = event.runtime?.node?.req as IncomingMessage;
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) return refused('NotJson');
  const body = await options.readBody(request);
  if (body.kind === 'tooLarge') return refused('BodyTooLarge');
  if (body.kind !== 'read') return refused('BodyNotRead');
  const parsed = parseReview(body.bytes);
  body.release();
  if (!parsed) return refused('InvalidReview');
  const injection = await inject(options, parsed);
  return injection.kind === 'busy' ? refused('Busy') : { kind: 'reviewed', uid: parsed.uid, injection };
}

/** `busy` if no resources are known yet, and the API server was queried too often. */
type Reviewed = Injection | { kind: 'busy' };

async function inject(options: MutatePodOptions, review: Review): Promise<Reviewed> {
  const { namespace, pod } = review;
  if (!asksForSidecar(pod)) return { kind: 'unchanged' };
  const { candidates, log } = options;
  if (!candidates.watches(namespace)) {
    // Another installation may manage it, so it isn't denied.
    log.info({ namespace, pod: podName(pod) }, "ignoring a pod in a namespace that isn't watched");
    return { kind: 'unchanged' };
  }
  const injection = await judgePod(options, { namespace, pod });
  logInjection(log, { namespace, pod, injection });
  return injection;
}

/** The cache may be outdated, so it can't deny a pod alone, unless the API server was queried too often. */
async function judgePod(
  { candidates, ...settings }: MutatePodOptions,
  { namespace, pod }: { namespace: string; pod: AdmittedPod },
): Promise<Reviewed> {
  const cached = candidates.cached(namespace);
  const injection = cached && injectSidecar({ ...settings, pod, namespace, candidates: cached });
  if (injection && (injection.kind !== 'denied' || injection.because === 'pod')) return injection;
  if (!candidates.mayQuery()) return injection ?? { kind: 'busy' };
  const known = await candidates.live(namespace, pod.metadata.annotations?.[POD_ANNOTATIONS.crName]);
  return injectSidecar({ ...settings, pod, namespace, ...known });
}

function logInjection(
  log: Logger,
  { namespace, pod, injection }: { namespace: string; pod: AdmittedPod; injection: Reviewed },
): void {
  const fields = { namespace, pod: podName(pod) };
  if (injection.kind === 'denied') log.warn({ ...fields, detail: injection.message }, 'pod denied');
  else if (injection.kind === 'patched')
    log.info({ ...fields, crName: injection.crName, profile: injection.profile }, 'sidecar injected');
}

/** Returns the name, if known. It hasn't been validated, and can have any length. */
function podName({ metadata: { name, generateName } }: AdmittedPod): string {
  return (name ?? `${generateName ?? ''}…`).slice(0, 253);
}

/** A pod that fits into etcd nests a dozen levels, and has some thousands of parts. */
const REVIEW_BOUNDS = { depth: 64, parts: 100_000 };

function parseReview(bytes: Buffer): Review | undefined {
  if (!isBoundedJson(bytes, REVIEW_BOUNDS)) return undefined;
  try {
    return readReview(JSON.parse(bytes.toString('utf8')));
  } catch {
    return undefined; // no JSON
  }
}
