import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { requestAnnotations } from './requests.ts';

/**
 * An API server that is played: it answers each patch after 100 ms, and keeps nothing, so that the receiver has the
 * processor to itself. `node slow-api-server.ts PORT CERTIFICATE KEY`.
 */
const [port, certFile = '', keyFile = ''] = process.argv.slice(2);
const DELAY_MS = 100;

const metadata = {
  name: 'r1',
  namespace: 'bench',
  uid: '6a3f8d0a-51a5-4c6c-8a6b-0d4a9d9f7b11',
  resourceVersion: '12345',
  annotations: requestAnnotations('v1', 1),
};
const text = JSON.stringify({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });
const headers = { 'Content-Type': 'application/json', 'Content-Length': text.length };

createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, async (request, response) => {
  request.resume();
  if (request.method === 'PATCH') await sleep(DELAY_MS);
  response.writeHead(200, headers).end(text);
}).listen(Number(port), '127.0.0.1');
