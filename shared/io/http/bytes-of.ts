import type { IncomingMessage } from 'node:http';
import { pipeline, Transform } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TransientError } from '../../errors.ts';

/** How much an answer may say, and what is thrown where it says more. */
export interface AnswerLimit {
  bytes: number;
  error?: () => TransientError;
  /** Time in which a minimum of bytes has to arrive (ms). If omitted, one minute. */
  stallMs?: number;
}

/** Bytes that have to arrive within the time, in milliseconds: a host that trickles them would go on for ever. */
const FLOOR = { bytes: 60_000, ms: 60_000 };
/** So many pieces may be of any size, such as one for each ref; those beyond have to have so many bytes each, on average. */
const PIECES = { free: 10_000, bytes: 256 };

/** Whether so many bytes came in pieces so small that the work on them would keep everybody else waiting. */
export const areTiny = (pieces: number, bytes: number): boolean => pieces > PIECES.free + bytes / PIECES.bytes;

/**
 * The bytes of an answer; throws {@link TransientError} where it says more than that, comes too slowly, or in pieces so
 * small that the work on them would keep everybody else waiting. Others have their turn between any two reads.
 */
export async function* bytesOf(
  response: IncomingMessage,
  { bytes, error = tooLarge, stallMs = FLOOR.ms }: AnswerLimit,
): AsyncGenerator<Buffer> {
  let size = 0;
  let pieces = 0;
  let before = 0;
  const timer = setInterval(() => {
    if (size - before < FLOOR.bytes) response.destroy(stalled());
    before = size;
  }, stallMs);
  // Each piece comes by here as the host sent it; what is read of it further on is put together.
  const measured = new Transform({
    transform: (chunk: Buffer, _, done) => {
      pieces += 1;
      size += chunk.length;
      if (areTiny(pieces, size)) done(tinyPieces());
      else done(size > bytes ? error() : null, chunk);
    },
  });
  pipeline(response, measured, () => {}); // its reader gets the errors
  try {
    for await (const chunk of measured as AsyncIterable<Buffer>) {
      yield chunk;
      await nextTurn();
    }
  } finally {
    clearInterval(timer);
    response.destroy();
  }
}

/** A host that has begun to answer, and does not go on. */
export const stalled = () =>
  new TransientError('the git server stopped sending, or sends almost nothing; retrying', {
    code: 'git.stalled',
    reason: 'GitTimeout',
  });

const tinyPieces = () =>
  new TransientError('the git server sends its response in tiny chunks, which would take too long; retrying', {
    code: 'git.tinyPieces',
    reason: 'GitTimeout',
  });

const tooLarge = () =>
  new TransientError('the git server sent more data than it announced', {
    code: 'git.answerTooLarge',
    reason: 'GitAnswerTooLarge',
  });
