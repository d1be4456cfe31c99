import type { ServerResponse } from 'node:http';
import { type Answer, answerOf } from './answer-of.ts';
import type { Refusal, RefusalReason } from './refusals.ts';

interface Written {
  status: number;
  headers: Record<string, string | number>;
  text: string;
}

/** Refusals that are always the same are written once. */
const written = new Map<RefusalReason, Written>();

/** Answers on the response of Node itself: a web response in between would cost more than the delivery. */
export function sendAnswer(response: ServerResponse, answer: Answer): void {
  send(response, write(answer));
}

/** The same for a refusal: what is refused before it was looked at costs next to nothing. */
export function sendRefusal(response: ServerResponse, refusal: Refusal): void {
  const isFixed = refusal.retryAfterSeconds === undefined && refusal.error === undefined;
  send(response, isFixed ? fixed(refusal) : write(answerOf(refusal)));
}

function fixed(refusal: Refusal): Written {
  const known = written.get(refusal.reason);
  if (known) return known;
  const made = write(answerOf(refusal));
  written.set(refusal.reason, made);
  return made;
}

function send(response: ServerResponse, { status, headers, text }: Written): void {
  response.writeHead(status, headers).end(text);
}

function write({ status, headers, body }: Answer): Written {
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  return { status, headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': length }, text };
}
