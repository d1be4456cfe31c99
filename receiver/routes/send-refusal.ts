import type { ServerResponse } from 'node:http';
import type { Refusal, RefusalReason } from '../domain/refusals.ts';
import { answerOf } from './answer-of.ts';

interface Written {
  status: number;
  headers: Record<string, string | number>;
  text: string;
}

/** Refusals that are always the same are written once. */
const written = new Map<RefusalReason, Written>();

/** Answers on the response of Node itself: what is refused before the router costs next to nothing. */
export function sendRefusal(response: ServerResponse, refusal: Refusal): void {
  const { status, headers, text } = writtenOf(refusal);
  response.writeHead(status, headers).end(text);
}

function writtenOf(refusal: Refusal): Written {
  const isFixed = refusal.retryAfterSeconds === undefined && refusal.error === undefined;
  const known = isFixed ? written.get(refusal.reason) : undefined;
  if (known) return known;
  const { status, headers, body } = answerOf(refusal);
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  const made = { status, headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': length }, text };
  if (isFixed) written.set(refusal.reason, made);
  return made;
}
