import type { RequestListener } from 'node:http';
import { H3 } from 'h3';
import { toNodeHandler } from 'h3/node';
import { type AuthenticateOptions, authenticate } from './authentication/authenticate.ts';
import { refused } from './outcome.ts';
import { noteArrival } from './request.ts';
import { type DeliverOptions, deliver } from './routes/deliver.ts';
import { type RespondOptions, respond } from './routes/respond.ts';

export interface AppOptions extends RespondOptions, AuthenticateOptions, Pick<DeliverOptions, 'queue'> {}

/** The receiver as a request listener: `POST /webhook/{namespace}/{name}`, and a refusal for all else. */
export function createApp(options: AppOptions): RequestListener {
  // `respond` creates every response, even to a malformed path.
  const app = new H3({ allowMalformedURL: true });
  app.use(respond(options));
  app.post('/webhook/:namespace/:name', deliver(options), { middleware: [authenticate(options)] });
  app.all('/webhook/:namespace/:name', () => refused('MethodNotAllowed'));
  app.all('/**', () => refused('NoSuchPath'));
  const handler = toNodeHandler(app) as RequestListener;
  return (request, response) => {
    noteArrival(request);
    return handler(request, response);
  };
}
