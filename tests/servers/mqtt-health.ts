/** Runs next to a broker, and answers 204 if the broker accepts the commit in X-Sync-Commit as a user, otherwise 503. */
import { createServer } from 'node:http';
import { logIn } from './mqtt.ts';

const [port, brokerPort, password = ''] = process.argv.slice(2);

createServer(async ({ headers }, response) => {
  const user = String(headers['x-sync-commit']);
  const isCurrent = await logIn(Number(brokerPort), { user, password }).catch(() => false);
  response.writeHead(isCurrent ? 204 : 503).end();
}).listen(Number(port), '127.0.0.1');
