import type { RequestListener } from 'node:http';
import { H3, HTTPError } from 'h3';
import { toNodeHandler } from 'h3/node';
import { type AuthenticateOptions, authenticate } from './authentication/authenticate.ts';
import { type AnswerOptions, answer, respond } from './routes/answer.ts';
import { type DeliverOptions, deliver } from './routes/deliver.ts';
import { refused } from './routes/outcome.ts';
import { noteArrival } from './routes/request.ts';

export interface AppOptions extends AnswerOptions, AuthenticateOptions, Pick<DeliverOptions, 'store'> {}

/** The receiver as a request listener: `POST /webhook/{namespace}/{name}`, and a refusal for all else. */
export function createApp(options: AppOptions): RequestListener {
  const { log, onAnswer, replays, store } = options;
  const app = new H3({
    // h3 would print its own errors.
    silent: true,
    // What the routes throw is answered before this; h3 itself refuses a path whose escapes are broken.
    onError: (error, event) => {
      const isMalformed = HTTPError.isError(error) && error.status === 400;
      if (!isMalformed) log.error({ err: error.cause ?? error }, 'a request failed');
      const outcome = refused(isMalformed ? 'MalformedRequest' : 'InternalError');
      return respond(event, outcome, onAnswer);
    },
  });
  app.use(answer(options));
  app.post(
    '/webhook/:namespace/:name',
    deliver({ store, onTaken: ({ namespace, name }, key) => replays.remember(`${namespace}/${name}`, key) }),
    {
      middleware: [authenticate(options)],
    },
  );
  app.all('/webhook/:namespace/:name', () => refused('MethodNotAllowed'));
  app.all('/**', () => refused('NoSuchPath'));
  const handler = toNodeHandler(app) as RequestListener;
  return (request, response) => {
    noteArrival(request);
    return handler(request, response);
  };
}
