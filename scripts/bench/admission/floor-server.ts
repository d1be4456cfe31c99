import { createServer } from 'node:https';
import { makeAuthority, makeServingCertificate } from '../../../controller/certificates/make-certificate.ts';

/** A bare `node:https` server that takes a body in and answers with as many bytes as a review has: the floor. */
const { certificate, privateKey } = makeServingCertificate(makeAuthority(Date.now()), ['localhost'], Date.now());
const answer = JSON.stringify({ patch: 'x'.repeat(5_500) });

const server = createServer({ cert: certificate, key: privateKey }, async (request, response) => {
  for await (const chunk of request) void chunk;
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': answer.length }).end(answer);
});
server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('listening'));
