import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { H3, HTTPError } from 'h3';
import { toNodeHandler } from 'h3/node';
import type { Logger } from '../shared/log.ts';
import { type AdmitOptions, type Admitted, createAdmit } from './admit-delivery.ts';
import type { AnswerRecord } from './answer-record.ts';
import type { DeliveryHeaders } from './domain/delivery.ts';
import { refused } from './domain/refusals.ts';
import { type Outcome, receiveDelivery, type Store } from './receive-delivery.ts';
import { type Answer, answerOf } from './routes/answer-of.ts';
import { sendRefusal } from './routes/send-refusal.ts';
import { targetOf } from './routes/target-of.ts';
import { webhookRoute } from './routes/webhook.ts';

export interface AppOptions extends AdmitOptions {
  log: Logger;
  store: Store;
  onAnswer: (record: AnswerRecord) => void;
}

/**
 * The receiver as a request listener. Deliveries are read and authenticated first; those that are let in go through
 * the router, like all requests that are no deliveries.
 */
export function createApp(options: AppOptions): RequestListener {
  const { log, store, onAnswer } = options;
  const admit = createAdmit(options);
  const admitted = new WeakMap<IncomingMessage, Admitted>();

  const tell = (request: IncomingMessage, outcome: Outcome, started: number): void => {
    const target = targetOf(request.url) ?? { namespace: '', name: '' };
    const requestId = admitted.get(request)?.requestId;
    const seconds = (performance.now() - started) / 1000;
    onAnswer({ requestId, target, headers: request.headers as DeliveryHeaders, outcome, seconds });
  };

  const route = createRouter(log, async (request) => {
    const started = performance.now();
    const delivery = admitted.get(request);
    const refusal = refused(request.method === 'POST' ? 'NoSuchPath' : 'MethodNotAllowed');
    const outcome = delivery ? await receiveDelivery(store, delivery) : refusal;
    tell(request, outcome, delivery?.started ?? started);
    return answerOf(outcome, delivery?.requestId);
  });

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const started = performance.now();
    const target = request.method === 'POST' ? targetOf(request.url) : undefined;
    const admission = target ? await admit(request, target) : undefined;
    if (admission?.kind === 'refused') {
      tell(request, admission, started);
      return sendRefusal(response, admission);
    }
    if (admission) admitted.set(request, admission);
    await route(request, response);
  };

  return (request, response) => {
    take(request, response).catch((err) => {
      log.error({ err }, 'a request failed');
      if (!response.headersSent) sendRefusal(response, refused('InternalError'));
    });
  };
}

function createRouter(log: Logger, receive: (request: IncomingMessage) => Promise<Answer>) {
  const app = new H3({
    // h3 would print errors of its own, and echo the URL in its answers.
    silent: true,
    onError: (error) => {
      const isInternal = !HTTPError.isError(error) || error.unhandled || error.status >= 500;
      if (isInternal) log.error({ err: error.cause ?? error }, 'a request failed');
      const { status, body } = answerOf(refused(isInternal ? 'InternalError' : 'MalformedRequest'));
      return Response.json(body, { status });
    },
  });
  app.all('/webhook/:namespace/:name', webhookRoute(receive));
  app.all('/**', () => {
    const { status, body } = answerOf(refused('NoSuchPath'));
    return Response.json(body, { status });
  });
  return toNodeHandler(app);
}
