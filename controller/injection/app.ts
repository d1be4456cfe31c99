import type { RequestListener } from 'node:http';
import { H3, HTTPError } from 'h3';
import { toNodeHandler } from 'h3/node';
import { type MutatePodOptions, mutatePodRoute } from './mutate-pod.ts';

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
