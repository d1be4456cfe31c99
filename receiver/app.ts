import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { H3, HTTPError } from 'h3';
import { toNodeHandler } from 'h3/node';
import type { Logger } from '../shared/log.ts';
import type { Target } from './annotations/target.ts';
import { type AdmitOptions, createAdmit } from './authentication/admit-delivery.ts';
import { type Answer, answerOf } from './routes/answer-of.ts';
import type { AnswerRecord } from './routes/answer-record.ts';
import { nodeRequestOf } from './routes/node-request-of.ts';
import { receiveDelivery, type Store } from './routes/receive-delivery.ts';
import { refused } from './routes/refusals.ts';
import { sendAnswer, sendRefusal } from './routes/send-answer.ts';
import { targetOf } from './routes/target-of.ts';
import type { DeliveryHeaders } from './sources/delivery.ts';

export interface AppOptions extends AdmitOptions {
  log: Logger;
  store: Store;
  onAnswer: (record: AnswerRecord) => void;
}

type Told = Pick<AnswerRecord, 'target' | 'outcome' | 'requestId'>;

/**
 * The receiver as a request listener. Deliveries are answered on the request of Node itself, by the way that costs
 * least; all that is no delivery goes through the router.
 */
export function createApp(options: AppOptions): RequestListener {
  const { log, store, onAnswer } = options;
  const admit = createAdmit(options);

  const tell = (request: IncomingMessage, started: number, { target, outcome, requestId }: Told): void => {
    // Node joins repeated headers itself, all but `set-cookie`.
    const headers = request.headers as DeliveryHeaders;
    onAnswer({ target, outcome, requestId, headers, seconds: (performance.now() - started) / 1000 });
  };

  const deliver = async (request: IncomingMessage, response: ServerResponse, target: Target): Promise<void> => {
    const started = performance.now();
    const admission = await admit(request, target);
    if (admission.kind === 'refused') {
      sendRefusal(response, admission);
      return tell(request, started, { target, outcome: admission, requestId: undefined });
    }
    const { requestId } = admission;
    const outcome = await receiveDelivery(store, admission);
    sendAnswer(response, answerOf(outcome, requestId));
    tell(request, started, { target, outcome, requestId });
  };

  const route = createRouter(log, (request) => {
    const started = performance.now();
    const outcome = refused(request.method === 'POST' ? 'NoSuchPath' : 'MethodNotAllowed');
    const target = targetOf(request.url) ?? { namespace: '', name: '' };
    tell(request, started, { target, outcome, requestId: undefined });
    return answerOf(outcome);
  });

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const target = request.method === 'POST' ? targetOf(request.url) : undefined;
    if (target) await deliver(request, response, target);
    else await route(request, response);
  };

  return (request, response) => {
    take(request, response).catch((err) => {
      log.error({ err }, 'a request failed');
      if (!response.headersSent) sendRefusal(response, refused('InternalError'));
    });
  };
}

/** Answers what is no delivery: other methods, other paths, and what no router can read. */
function createRouter(log: Logger, refuse: (request: IncomingMessage) => Answer) {
  const app = new H3({
    // h3 would print errors of its own, and echo the URL in its answers.
    silent: true,
    onError: (error) => {
      const isInternal = !HTTPError.isError(error) || error.unhandled || error.status >= 500;
      if (isInternal) log.error({ err: error.cause ?? error }, 'a request failed');
      return responseOf(answerOf(refused(isInternal ? 'InternalError' : 'MalformedRequest')));
    },
  });
  app.all('/webhook/:namespace/:name', (event) => responseOf(refuse(nodeRequestOf(event))));
  app.all('/**', () => responseOf(answerOf(refused('NoSuchPath'))));
  return toNodeHandler(app);
}

function responseOf({ status, headers, body }: Answer): Response {
  return Response.json(body, { status, headers });
}
