import type { IncomingMessage, RequestListener } from 'node:http';
import { H3, type H3Event, HTTPError } from 'h3';
import { toNodeHandler } from 'h3/node';
import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { isBoundedJson } from '../../shared/domain/is-bounded-json.ts';
import type { ReadBody } from '../../shared/io/http/read-body.ts';
import type { Logger } from '../../shared/log.ts';
import { asksForSidecar } from '../watch/observed-pod.ts';
import type { AdmittedPod } from './admitted-pod.ts';
import type { CandidateSource } from './candidates.ts';
import type { AgentImages } from './choose-agent-image.ts';
import { type Injection, injectSidecar } from './inject-sidecar.ts';
import { type Review, readReview, reviewResponse } from './review.ts';
import type { SidecarDefaults } from './sidecar.ts';

/** Settings that decide about injection. */
export interface InjectionSettings {
  images: AgentImages;
  /** Variables for access to git servers: proxies, denied networks. */
  gitVariables?: Record<string, string>;
  defaults?: SidecarDefaults;
}

export interface MutatePodOptions extends InjectionSettings {
  candidates: CandidateSource;
  readBody: ReadBody;
  log: Logger;
  /** Called for every review, for metrics. */
  onReview: (outcome: Injection['kind'] | 'invalid' | 'failed', seconds: number) => void;
}

/** The admission endpoint as a request listener. */
export function createApp(options: MutatePodOptions): RequestListener {
  const app = new H3({
    silent: true,
    onError: (error) => {
      const status = HTTPError.isError(error) && !error.unhandled ? error.status : 500;
      if (status === 500) {
        options.log.error({ err: error.cause ?? error }, 'admission review failed');
        options.onReview('failed', 0);
      }
      return Response.json({ error: status === 500 ? 'internal error' : 'malformed request' }, { status });
    },
  });
  app.post('/mutate-v1-pod', mutatePodRoute(options));
  app.all('/**', () => Response.json({ error: 'no such path' }, { status: 404 }));
  return toNodeHandler(app) as RequestListener;
}

/** `POST /mutate-v1-pod`: reviews the creation of a pod. */
function mutatePodRoute(options: MutatePodOptions): (event: H3Event) => Promise<string> {
  return async (event) => {
    const started = performance.now();
    const { status, json, outcome } = await answerReview(options, event);
    options.onReview(outcome, (performance.now() - started) / 1000);
    event.res.status = status;
    event.res.headers.set('Content-Type', 'application/json');
    return JSON.stringify(json); // a web response would take a fifth of the time of a review
  };
}

interface Answered {
  status: number;
  json: object;
  outcome: Parameters<MutatePodOptions['onReview']>[0];
}

async function answerReview(options: MutatePodOptions, event: H3Event): Promise<Answered> {
  const request = event.runtime?.node?.req as IncomingMessage;
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? ''))
    return invalid(415, 'the body must be application/json');
  const body = await options.readBody(request);
  if (body.kind === 'tooLarge') return invalid(413, 'the review is too large');
  if (body.kind !== 'read') return invalid(503, 'try again');
  const review = parseReview(body.bytes);
  body.release();
  if (!review) return invalid(400, "the body isn't a valid AdmissionReview of admission.k8s.io/v1");
  const injection = await inject(options, review);
  if (injection.kind === 'busy') return { status: 503, json: { error: 'try again' }, outcome: 'failed' };
  return { status: 200, json: reviewResponse(review.uid, injection), outcome: injection.kind };
}

/** `busy` if no resources are known yet, and the API server was queried too often. */
type Reviewed = Injection | { kind: 'busy' };

async function inject(options: MutatePodOptions, review: Review): Promise<Reviewed> {
  const { namespace, pod } = review;
  if (!pod || !asksForSidecar(pod)) return { kind: 'unchanged' };
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
  { candidates, images, gitVariables, defaults }: MutatePodOptions,
  { namespace, pod }: { namespace: string; pod: AdmittedPod },
): Promise<Reviewed> {
  const given = { pod, namespace, images, gitVariables, defaults };
  const cached = candidates.cached(namespace);
  const injection = cached && injectSidecar({ ...given, candidates: cached });
  if (injection && (injection.kind !== 'denied' || injection.because === 'pod')) return injection;
  if (!candidates.mayQuery()) return injection ?? { kind: 'busy' };
  const known = await candidates.live(namespace, pod.metadata.annotations?.[POD_ANNOTATIONS.crName]);
  return injectSidecar({ ...given, ...known });
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

function invalid(status: number, error: string): Answered {
  return { status, json: { error }, outcome: 'invalid' };
}
