import type { IncomingMessage } from 'node:http';
import { pipeline, Transform } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TransientError } from '../../errors.ts';

/** Size and speed limits of a response, and the error if it exceeds them. */
export interface AnswerLimit {
  bytes: number;
  error?: () => TransientError;
}

/** Minimum `bytes` per period of `ms`. Without it, a host that trickles bytes would never finish. */
const FLOOR = { bytes: 60_000, ms: 60_000 };
/** Pieces of any size that are allowed, and the minimum average size of more (bytes). */
const PIECES = { free: 10_000, bytes: 256 };

/** Returns whether the pieces were so small that processing them would block other work. */
export const areTiny = (pieces: number, bytes: number): boolean => pieces > PIECES.free + bytes / PIECES.bytes;

/**
 * Returns the bytes of a response. Throws {@link TransientError} if it is too large, too slow, or in such small pieces
 * that processing them would block other work. Yields to other work between reads.
 */
export async function* bytesOf(
  response: IncomingMessage,
  { bytes, error = tooLarge }: AnswerLimit,
): AsyncGenerator<Buffer> {
  let size = 0;
  let pieces = 0;
  let before = 0;
  const timer = setInterval(() => {
    if (size - before < FLOOR.bytes) response.destroy(stalled());
    before = size;
  }, FLOOR.ms);
  // Measured here as the host sent them, because later readers get combined pieces.
  const measured = new Transform({
    transform: (chunk: Buffer, _, done) => {
      pieces += 1;
      size += chunk.length;
      if (areTiny(pieces, size)) done(tinyPieces());
      else done(size > bytes ? error() : null, chunk);
    },
  });
  pipeline(response, measured, () => {}); // the reader gets the errors
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

/** Error for a host that stops in the middle of a response. */
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
